// SPDX-License-Identifier: GPL-2.0-only
// A field of a message -> bytes of six bits of data and two of MSEO: what tt-dfd's module of this
// name does, byte by byte. That one has a result for each of 65 lengths and chooses, which costs a
// simulator 150 times as much. lab/build-rtl --original takes that one.
module dfd_te_mso #(
  parameter DATA_WIDTH = 64,
  localparam BYTES = (DATA_WIDTH + 5) / 6
) (
  input  logic [DATA_WIDTH-1:0]         data_in,
  input  logic [$clog2(DATA_WIDTH):0]   data_len,
  input  logic                          is_var,
  input  logic                          is_last,
  output logic [BYTES*8-1:0]            data_out,
  output logic [$clog2(BYTES):0]        data_out_len_in_bytes,
  output logic [BYTES-1:0]              data_out_be
);
  logic [BYTES*6-1:0] data;
  logic [1:0] mseo;
  int unsigned bits;

  always_comb begin
    data = (BYTES*6)'(data_in);
    mseo = {is_last, is_last | is_var};
    bits = 32'(data_len);
    data_out = '0;
    data_out_be = '0;
    data_out_len_in_bytes = '0;
    for (int unsigned i = 0; i < BYTES; i++) begin
      if (6 * i < bits) begin
        data_out[8*i +: 8] = {data[6*i +: 6], 6 * (i + 1) >= bits ? mseo : 2'b00};
        data_out_be[i] = 1;
        data_out_len_in_bytes = ($clog2(BYTES)+1)'(i + 1);
      end
    end
    // A field without bits is nothing but an end
    if (bits == 0) begin
      data_out[1:0] = mseo;
      data_out_be[0] = |mseo;
      data_out_len_in_bytes = ($clog2(BYTES)+1)'(|mseo);
    end
  end
endmodule
