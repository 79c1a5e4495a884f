# SPDX-License-Identifier: GPL-2.0-only
"""QtSql's two classes over Python's own sqlite3"""

import sqlite3

__all__ = ["QSqlDatabase", "QSqlQuery"]


class QSqlError:
    def __init__(self, text):
        self.words = text

    def text(self):
        return self.words


class QSqlDatabase:
    @staticmethod
    def addDatabase(kind):
        if kind != "QSQLITE":
            raise ValueError(kind)
        return QSqlDatabase()

    def setDatabaseName(self, name):
        self.name = name

    def open(self):
        # transactions are the caller's
        self.connection = sqlite3.connect(self.name, isolation_level=None)
        return True

    def close(self):
        self.connection.close()


class QSqlQuery:
    def __init__(self, db):
        self.db, self.words, self.values, self.error = db, "", [], ""

    def prepare(self, words):
        self.words, self.values = words, []
        return True

    def addBindValue(self, value):
        self.values.append(value)

    def exec_(self, words=None):
        values, self.values = ([], self.values) if words else (self.values, [])
        try:
            self.cursor = self.db.connection.execute(words or self.words, values)
        except (sqlite3.Error, OverflowError) as e:
            self.error = str(e)
            return False
        return True

    def next(self):
        return self.cursor.fetchone() is not None

    def lastError(self):
        return QSqlError(self.error)
