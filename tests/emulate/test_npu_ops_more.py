"""NPU-only operators beside attention and norms: against torch's own layers and losses."""

from __future__ import annotations

from running import Run

from program_files import program_text


def test_recurrent_layers_are_those_of_torch(run: Run) -> None:
    program = program_text(__file__, "recurrent_layers")
    assert run(program).stdout == ("npu_lstm with `flag_seq` is not emulated; `jumar emulate coverage` lists what is\n")


def test_deformable_convolution_without_offsets_is_a_convolution(run: Run) -> None:
    program = program_text(__file__, "deformable_convolution")
    run(program)


def test_the_split_vocabulary_loss_is_cross_entropy(run: Run) -> None:
    program = program_text(__file__, "split_vocabulary_loss")
    run(program)


def test_latent_attention_starts_with_projections_and_fills_its_caches(run: Run) -> None:
    program = program_text(__file__, "latent_attention")
    assert run(program).stdout.startswith("npu_mla_prolog with `cache_mode` PA_NZ is not emulated")


def test_a_quantised_feed_forward_block_rounds_in_between(run: Run) -> None:
    program = program_text(__file__, "quantised_feed_forward")
    run(program)


def test_a_whole_attention_layer_and_its_gradients(run: Run) -> None:
    program = program_text(__file__, "attention_layer")
    assert run(program).stdout.startswith("tgt_len, src_len, attn_head_num, attn_dim_per_head should align to 16.")
