"""A denoising model by diffusers on an NPU, trained and sampled from: `jumar run diffusers_unet.py`."""

from __future__ import annotations

import torch
from diffusers import DDPMScheduler, UNet2DModel

import tiny


def main() -> None:
    device = tiny.device()
    torch.manual_seed(0)
    net = UNet2DModel(
        sample_size=16, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(8, 16),
        norm_num_groups=4, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"), attention_head_dim=8,
    ).to(device)  # fmt: skip
    noise_of, optimizer = DDPMScheduler(num_train_timesteps=50), torch.optim.AdamW(net.parameters(), lr=1e-3)
    source = torch.Generator().manual_seed(1)
    for step in range(5):
        clean, noise = (torch.randn(4, 1, 16, 16, generator=source) for _ in range(2))
        when = torch.randint(50, (4,), generator=source)
        noisy = noise_of.add_noise(clean, noise, when).to(device)
        loss = torch.nn.functional.mse_loss(net(noisy, when.to(device)).sample, noise.to(device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        tiny.tell(step, loss.detach())
    noise_of.set_timesteps(4)
    image = torch.randn(1, 1, 16, 16, generator=source).to(device)
    with torch.no_grad():
        for when in noise_of.timesteps[:-1]:
            image = noise_of.step(net(image, when.to(device)).sample, int(when), image, generator=source).prev_sample
    tiny.tell(5, image.abs().mean())


if __name__ == "__main__":
    main()
