# What images of the CUDA variant stand on: NVIDIA's base, the PJRT plugin and the libraries that it opens, in the
# folders that pip makes, by which the plugin finds them (docs/cuda.md). Not yet run on a GPU.
ARG CUDA_IMAGE=nvidia/cuda:13.0.1-base-ubuntu24.04

FROM ${CUDA_IMAGE} AS packages
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3-pip \
    && rm -rf /var/lib/apt/lists/*
COPY cuda-requirements.txt /tmp/
RUN python3 -m pip install --no-cache-dir --no-compile --no-deps --only-binary=:all: --require-hashes \
    --target /opt/cuda13 --requirement /tmp/cuda-requirements.txt

# hadolint ignore=DL3006
FROM ${CUDA_IMAGE}
COPY --from=packages /opt/cuda13 /opt/cuda13
ENV ROUNDHOUSE_WORKER_DEVICE_CUDA_PYTHON_ENVIRONMENT=/opt/cuda13
