"""Two models and two optimizers, saved side by side."""
import argparse

import torch
import torch.nn as nn
import torch.optim as optim
import torch.utils.data as data

parser = argparse.ArgumentParser()
parser.add_argument('--batch-size', type=int, default=16)
parser.add_argument('--save-model', default='')
opt = parser.parse_args()
print(opt)

torch.manual_seed(2)
device = torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')

dataset = data.TensorDataset(torch.randn(64, 5, generator=torch.Generator().manual_seed(9)))
dataloader = data.DataLoader(dataset, batch_size=opt.batch_size,
                             shuffle=True, num_workers=0)


def weights_init(m):
    if isinstance(m, nn.Linear):
        nn.init.constant_(m.bias, 0.1)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 5))

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(5, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1), nn.Sigmoid())

    def forward(self, x):
        return self.main(x).view(-1)


netG = Generator().to(device)
netG.apply(weights_init)
netD = Discriminator().to(device)
netD.apply(weights_init)
print(netG)

criterion = nn.BCELoss()
fixed_noise = torch.ones(4, 3, device=device)
optimizerD = optim.SGD(netD.parameters(), lr=0.1)
optimizerG = optim.SGD(netG.parameters(), lr=0.1)

for epoch in range(2):
    for i, batch in enumerate(dataloader, 0):
        netD.zero_grad()
        real = batch[0].to(device)
        size = real.size(0)
        label = torch.ones(size, device=device)
        errD_real = criterion(netD(real), label)
        errD_real.backward()
        noise = real[:, :3] * 0.5
        fake = netG(noise)
        label.fill_(0)
        errD_fake = criterion(netD(fake.detach()), label)
        errD_fake.backward()
        optimizerD.step()

        netG.zero_grad()
        label.fill_(1)
        errG = criterion(netD(fake), label)
        errG.backward()
        optimizerG.step()
        if i % 2 == 0:
            print('[%d][%d] D %.4f G %.4f' % (epoch, i, (errD_real + errD_fake).item(), errG.item()))
            fake = netG(fixed_noise)
    if opt.save_model:
        torch.save(netG.state_dict(), opt.save_model)
        torch.save(netD.state_dict(), opt.save_model + '.d')
with torch.no_grad():
    print('RESULT sample %.6f score %.6f' % (netG(fixed_noise).sum().item(), netD(netG(fixed_noise)).sum().item()))
