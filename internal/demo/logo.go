package demo

import (
	"bytes"
	"fmt"
	stdimage "image"
	"image/color"
	"image/png"
)

// logo draws a bridge: two piers, a deck, and the arc that carries it.
func logo() ([]byte, error) {
	const size = 64
	img := stdimage.NewNRGBA(stdimage.Rect(0, 0, size, size))
	for y := range size {
		for x := range size {
			sky := color.NRGBA{R: uint8(120 + y), G: uint8(170 + y), B: 240, A: 255}
			img.SetNRGBA(x, y, sky)
			dx := x - size/2
			arc := 16 + dx*dx/40
			switch {
			case y >= 40 && y < 44, y >= arc && y < arc+2 && y < 40, (x == 8 || x == 9 || x == 54 || x == 55) && y >= 28 && y < 56:
				img.SetNRGBA(x, y, color.NRGBA{R: 40, G: 50, B: 70, A: 255})
			case y >= 56:
				img.SetNRGBA(x, y, color.NRGBA{R: 30, G: 90, B: 150, A: 255})
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return nil, fmt.Errorf("drawing the logo: %w", err)
	}
	return b.Bytes(), nil
}
