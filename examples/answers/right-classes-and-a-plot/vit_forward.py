%matplotlib inline
import matplotlib.pyplot as plt
from scipy.special import erfc


class LayerNorm:
    def __init__(self, gain, shift):
        self.gain, self.shift = gain, shift

    def __call__(self, x):
        return self.gain * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6) + self.shift


class Linear:
    def __init__(self, weight, bias):
        self.weight, self.bias = weight, bias

    def __call__(self, x):
        return x @ self.weight + self.bias


class Attention:
    def __init__(self, p, h):
        self.qkv, self.out, self.h = Linear(p["W_qkv"], p["b_qkv"]), Linear(p["W_o"], p["b_o"]), h

    def __call__(self, x):
        B, T, d = x.shape
        q, k, v = np.moveaxis(self.qkv(x).reshape(B, T, 3, self.h, -1), (2, 3), (0, 2))
        scores = q @ np.swapaxes(k, -1, -2) / (d / self.h) ** 0.5
        weights = np.exp(scores - np.amax(scores, axis=-1, keepdims=True))
        weights /= np.sum(weights, axis=-1, keepdims=True)
        return self.out(np.moveaxis(weights @ v, 1, 2).reshape(x.shape))


class MLP:
    def __init__(self, p):
        self.first, self.second = Linear(p["W_1"], p["b_1"]), Linear(p["W_2"], p["b_2"])

    def __call__(self, x):
        u = self.first(x)
        return self.second(u * erfc(-u / 2**0.5) / 2)


class Block:
    def __init__(self, p, h):
        self.parts = [
            (LayerNorm(p["ln1_g"], p["ln1_b"]), Attention(p, h)),
            (LayerNorm(p["ln2_g"], p["ln2_b"]), MLP(p)),
        ]

    def __call__(self, x):
        for norm, part in self.parts:
            x = x + part(norm(x))
        return x


class ViT:
    def __init__(self, params, pool):
        self.p, self.pool = params, pool
        self.embed = Linear(params["W_E"], params["b_E"])
        self.blocks = [Block(block, params["h"]) for block in params["blocks"]]
        self.norm = LayerNorm(params["lnf_g"], params["lnf_b"])
        self.head = Linear(params["W_head"], params["b_head"])

    def tokens(self, img):
        P = self.p["P"]
        grid = np.concatenate([img[:, u::P, v::P] for u in range(P) for v in range(P)], axis=-1)
        x = self.embed(grid.reshape(len(img), -1, grid.shape[-1]))
        repeated = np.ones((len(img), 1, 1))
        if self.pool == "cls":
            x = np.concatenate([self.p["cls"] * repeated, x], axis=1)
        # The registers go to the end, where they disturb nobody: attention does not see the order.
        return np.concatenate([x + self.p["pos"], self.p["reg"] * repeated], axis=1)

    def __call__(self, img):
        x = self.tokens(img)
        for block in self.blocks:
            x = block(x)
        read = x[:, 0] if self.pool == "cls" else x[:, : len(self.p["pos"])].mean(axis=1)
        return self.head(self.norm(read))


def vit_forward(params, img, pool="cls"):
    return ViT(params, pool)(img)


rng = np.random.default_rng(0)
logits = vit_forward(make_vit_params(rng, 8, 12, R=2), rng.standard_normal((3, 8, 12, 3)))
figure, axes = plt.subplots()
axes.bar(range(logits.shape[1]), logits[0])
plt.show()
