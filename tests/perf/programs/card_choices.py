import torch
from torch.nn.functional import scaled_dot_product_attention

layers = torch.nn.ModuleList(torch.nn.Linear(32, 32) for _ in range(6))
optimizer = torch.optim.AdamW(layers.parameters())
for _ in range(4):
    x = torch.randn(2, 8, 16, 32)
    for layer in layers:
        x = layer(x)
    x = scaled_dot_product_attention(x, x, x)
    x = scaled_dot_product_attention(x, x, x, dropout_p=0.1)
    optimizer.zero_grad()
    with torch.profiler.record_function("backward"):
        x.sum().backward()
    optimizer.step()
