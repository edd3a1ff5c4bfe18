# Makes the images in this folder with Pillow (pip install pillow).
import math
from PIL import Image, ImageChops

W, H = 96, 64
scene = Image.new("RGB", (W, H))
mask = Image.new("L", (W, H))
for y in range(H):
    for x in range(W):
        blue = 127 + 127 * math.sin(x / 30) * math.cos(y / 25)
        scene.putpixel((x, y), (255 * x // (W - 1), 255 * y // (H - 1), int(blue)))
        mask.putpixel((x, y), min(255, int(255 * math.hypot(x - W / 2, y - H / 2) / 40)))
cutout = scene.copy()
cutout.putalpha(mask)

scene.save("scene.png", optimize=True)
scene.save("progressive.jpg", progressive=True, quality=95)
scene.save("411.jpg", subsampling="4:1:1", quality=95)
scene.save("422.jpg", subsampling="4:2:2", quality=95)
scene.save("444.jpg", subsampling="4:4:4", quality=95)
scene.save("rgb.jpg", keep_rgb=True, quality=95)
scene.convert("CMYK").save("cmyk.jpg", quality=95)
scene.save("lossy.webp", quality=95)
scene.save("lossless.webp", lossless=True)
cutout.save("cutout.png", optimize=True)
cutout.save("cutout.webp", quality=95)
cutout.save("cutout-lossless.webp", lossless=True)
small = scene.resize((24, 16))
small.save("animated.webp", save_all=True, append_images=[small.rotate(180)])

# Pillow does not write YCCK: save its components as CMYK, and change what the segment of Adobe says of them.
y, cb, cr = ImageChops.invert(scene).convert("YCbCr").split()
black = Image.new("L", (W, H))
inverted = [ImageChops.invert(plane) for plane in (y, cb, cr)]
Image.merge("CMYK", inverted + [black]).save("ycck.jpg", quality=95)
data = bytearray(open("ycck.jpg", "rb").read())
data[data.index(b"Adobe") + 11] = 2
open("ycck.jpg", "wb").write(data)
