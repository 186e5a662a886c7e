# torch 1.11.0, CANN 7.0.RC1, Python 3.10, A2, aarch64
# Written by `jumar plan`, never tried on an NPU. To start it on a host:
# docker run -it --rm --ipc=host --shm-size=16g \
#   --device /dev/davinci0 --device /dev/davinci_manager --device /dev/devmm_svm --device /dev/hisi_hdc \
#   -v /usr/local/dcmi:/usr/local/dcmi -v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi \
#   -v /usr/local/Ascend/driver/lib64/:/usr/local/Ascend/driver/lib64/ \
#   -v /usr/local/Ascend/driver/version.info:/usr/local/Ascend/driver/version.info \
#   -v /etc/ascend_install.info:/etc/ascend_install.info IMAGE bash
# No public CANN image has these versions: put the packages beside this file.
FROM python:3.10-slim-bullseye
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
RUN apt-get update && apt-get install -y --no-install-recommends gcc g++ make cmake zlib1g zlib1g-dev openssl libsqlite3-dev libssl-dev libffi-dev unzip pciutils net-tools libblas-dev gfortran libblas3 patchelf curl git && \
    rm -rf /var/lib/apt/lists/*
RUN groupadd -g 1000 HwHiAiUser && useradd -g HwHiAiUser -u 1000 -m -s /bin/bash HwHiAiUser
COPY Ascend-cann-toolkit_7.0.RC1_linux-aarch64.run Ascend-cann-kernels-910b_7.0.RC1_linux.run /tmp/packages/
RUN cd /tmp/packages && bash Ascend-cann-toolkit_7.0.RC1_linux-aarch64.run --check && bash Ascend-cann-toolkit_7.0.RC1_linux-aarch64.run --quiet --install --install-for-all
RUN cd /tmp/packages && bash Ascend-cann-kernels-910b_7.0.RC1_linux.run --check && source /usr/local/Ascend/ascend-toolkit/set_env.sh && bash Ascend-cann-kernels-910b_7.0.RC1_linux.run --quiet --install --install-for-all
RUN rm -rf /tmp/packages
RUN python3 -m pip install --no-cache-dir 'numpy>=1.19.2,<2.0' attrs cython decorator sympy cffi pyyaml pathlib2 psutil 'protobuf==3.20.*' scipy requests absl-py && \
    python3 -m pip install --no-cache-dir --no-deps /usr/local/Ascend/ascend-toolkit/latest/lib64/te-*-py3-none-any.whl /usr/local/Ascend/ascend-toolkit/latest/lib64/hccl-*-py3-none-any.whl && \
    python3 -m pip install --no-cache-dir torch==1.11.0 && \
    python3 -m pip install --no-cache-dir https://gitee.com/ascend/pytorch/releases/download/v5.0.rc3-pytorch1.11.0/torch_npu-1.11.0.post4-cp310-cp310-linux_aarch64.whl && \
    python3 -m pip install --no-cache-dir torchvision==0.12.0 && \
    python3 -m pip install --no-cache-dir torchaudio==0.11.0
ENV LD_LIBRARY_PATH=/usr/local/Ascend/driver/lib64:/usr/local/Ascend/driver/lib64/common:/usr/local/Ascend/driver/lib64/driver
RUN echo "source /usr/local/Ascend/ascend-toolkit/set_env.sh" >> /etc/profile && echo "source /usr/local/Ascend/ascend-toolkit/set_env.sh" >> /root/.bashrc
ENTRYPOINT ["/bin/bash", "-c", "source /usr/local/Ascend/ascend-toolkit/set_env.sh && exec \"$@\"", "--"]
CMD ["bash"]
