"""Decimals with digits to spare, made an int at the end."""

from decimal import Decimal, localcontext


def vit_param_count(cfg):
    with localcontext() as context:
        context.prec = 200
        number = {key: Decimal(int(value)) for key, value in cfg.items() if not isinstance(value, str)}
        d, d_ff = number["d"], number["d_ff"]
        total = (number["P"] ** 2 * number["C"] + 1) * d
        total += (2 * number["cls_token"] + number["n_registers"] + (number["img"] / number["P"]) ** 2) * d
        total += number["L"] * (4 * d**2 + 2 * d * d_ff + d_ff + 9 * d)
        total += 2 * d + (d + 1) * number["n_classes"]
        return int(total)
