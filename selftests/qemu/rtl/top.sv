// SPDX-License-Identifier: GPL-2.0-only
// One hart's encoder, the trace network, funnel, RAM sink and SRAM. Around them: a bus for the
// registers (APB), memory that takes every write at once (AXI), and ports for what retires.
module top import dfd_pkg::*, dfd_te_pkg::*, dfd_CL_axi_pkg::*;
(
  input  logic             clk,
  input  logic             reset_n,

  input  logic [1:0][4:0]  halfwords,
  input  logic [1:0][2:0]  itype,
  input  logic [1:0][63:0] address,
  input  logic [63:0]      timestamp,
  input  logic [63:0]      tval,
  input  logic [31:0]      context_,
  input  logic [2:0]       priv,
  output logic             backpressure,

  input  logic [22:0]      paddr,
  input  logic             psel,
  input  logic             penable,
  input  logic             pwrite,
  input  logic [31:0]      pwdata,
  output logic             pready,
  output logic [31:0]      prdata,
  output logic             pslverr,

  output logic             mem_write,
  output logic [51:0]      mem_address,
  output logic [511:0]     mem_data,
  output logic [63:0]      mem_strobe
);
  dfd_slv_axi_req_t request;
  dfd_slv_axi_rsp_t response;

  // Memory takes an address and a word of data, in any order, writes, then answers.
  enum logic [1:0] { TAKING, WRITING, ANSWERING } state;
  logic got_address, got_data;
  logic [$bits(request.aw.id)-1:0] id;

  always_comb begin
    response = '0;
    response.aw_ready = state == TAKING && !got_address;
    response.w_ready  = state == TAKING && !got_data;
    response.b_valid  = state == ANSWERING;
    response.b.id     = id;
    mem_write = state == WRITING;
  end

  always_ff @(posedge clk) begin
    if (!reset_n) begin
      state <= TAKING;
      got_address <= 0;
      got_data <= 0;
    end else case (state)
      TAKING: begin
        if (request.aw_valid && !got_address) begin
          got_address <= 1;
          id <= request.aw.id;
          mem_address <= request.aw.addr;
        end
        if (request.w_valid && !got_data) begin
          got_data <= 1;
          mem_data <= request.w.data;
          mem_strobe <= request.w.strb;
        end
        if ((got_address || request.aw_valid) && (got_data || request.w_valid))
          state <= WRITING;
      end
      WRITING: begin
        got_address <= 0;
        got_data <= 0;
        state <= ANSWERING;
      end
      default:
        if (request.b_ready)
          state <= TAKING;
    endcase
  end

  dfd_top_ntrace_mmr #(.NUM_TRACE_AND_ANALYZER_INST(1), .TRC_SIZE_IN_KB(16)) dfd (
    .clk, .reset_n, .reset_n_warm_ovrride(reset_n), .cold_reset_n(reset_n),
    .i_mem_tsel_settings('0),
    .external_cla_action_trace_start('0),
    .external_cla_action_trace_stop('0),
    .external_cla_action_trace_pulse('0),
    .IRetire(halfwords), .IType(itype), .IAddr({address[1][63:1], address[0][63:1]}),
    .ILastSize('0), .Tstamp(timestamp), .Priv(PrivMode_e'(priv)), .Context(context_), .Tval(tval),
    .Error('0), .Active(), .StallModeEn(), .StartStop(), .Backpressure(backpressure),
    .TrigControl(TRIG_TRACE_NONE),
    .TR_EXT_SlvReq(request), .EXT_TR_SlvResp(response),
    .JT_TR_SlvReq('0), .TR_JT_SlvResp(),
    .paddr, .psel, .penable, .pstrb('1), .pwrite, .pwdata, .pready, .prdata, .pslverr
  );
endmodule
