"""Layers as objects, in the manner of PyTorch; the function itself is an object too."""

import numpy as np
from scipy.special import erfc


class Layer:
    def __call__(self, *args):
        return self.forward(*args)


class Linear(Layer):
    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, x):
        return np.dot(x, self.W) + self.b


class LayerNorm(Layer):
    eps = 1e-6

    def __init__(self, g, b):
        self.g, self.b = g, b

    def forward(self, x):
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + self.eps) * self.g + self.b


class GELU(Layer):
    def forward(self, x):
        return 0.5 * x * erfc(-x / np.sqrt(2.0))


class Attention(Layer):
    def __init__(self, block, heads):
        self.heads = heads
        self.qkv = Linear(block["W_qkv"], block["b_qkv"])
        self.proj = Linear(block["W_o"], block["b_o"])

    def split(self, x):
        B, T, d = x.shape
        return x.reshape(B, T, self.heads, d // self.heads).transpose(0, 2, 1, 3)

    def forward(self, x):
        q, k, v = map(self.split, np.split(self.qkv(x), 3, axis=2))
        s = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])
        s -= s.max(axis=-1, keepdims=True)
        np.exp(s, out=s)
        s /= s.sum(axis=-1, keepdims=True)
        return self.proj((s @ v).transpose(0, 2, 1, 3).reshape(x.shape))


class Block(Layer):
    def __init__(self, block, heads):
        self.norm1 = LayerNorm(block["ln1_g"], block["ln1_b"])
        self.norm2 = LayerNorm(block["ln2_g"], block["ln2_b"])
        self.attention = Attention(block, heads)
        self.mlp = [Linear(block["W_1"], block["b_1"]), GELU(), Linear(block["W_2"], block["b_2"])]

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        y = self.norm2(x)
        for layer in self.mlp:
            y = layer(y)
        return x + y


class ViT(Layer):
    def forward(self, params, img, pool="cls"):
        B, H, W, C = img.shape
        P = params["P"]
        x = img.reshape(B, H // P, P, W // P, P * C).swapaxes(2, 3).reshape(B, -1, P * P * C)
        x = Linear(params["W_E"], params["b_E"])(x.astype("float64"))
        prefix = params["reg"]
        if pool == "cls":
            prefix = np.vstack([params["cls"] + params["pos"][0], prefix])
        x = x + params["pos"][-x.shape[1] :]
        x = np.concatenate([np.repeat(prefix[None], B, axis=0), x], axis=1)
        for block in params["blocks"]:
            x = Block(block, params["h"])(x)
        x = x[:, 0] if pool == "cls" else x[:, len(prefix) :].mean(axis=1)
        return Linear(params["W_head"], params["b_head"])(LayerNorm(params["lnf_g"], params["lnf_b"])(x))

    def __call__(self, params, img, pool="cls"):
        return self.forward(params, img, pool)


vit_forward = ViT()
