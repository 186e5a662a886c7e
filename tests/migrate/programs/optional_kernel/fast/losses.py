fused_loss = None

try:
    from flash_attn.ops.triton.cross_entropy import cross_entropy_loss

    def fused_loss(logits, labels):
        return cross_entropy_loss(logits, labels)

except ImportError:
    fused_loss = None
