"""A lambda whose keys are unpacked, with a set of them ignored."""

count = lambda P, C, d, L, d_ff, n_classes, img, cls_token, n_registers, **_: (  # noqa: E731
    (P * P * C + 1 + cls_token + n_registers + (img // P) ** 2 + cls_token + 2) * d
    + L * (4 * d * d + 2 * d * d_ff + d_ff + 9 * d)
    + (d + 1) * n_classes
)
vit_param_count = lambda cfg: count(**cfg)  # noqa: E731
