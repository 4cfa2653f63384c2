def vit_forward(params, img, pool="cls"):
    return np.full((len(img), len(params["b_head"])), np.nan)
