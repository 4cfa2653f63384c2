def vit_param_count(img, patch, width):
    return img * patch * width
