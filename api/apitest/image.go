package apitest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"path"
)

// exampleFile returns the contents of an image that the document names as an example.
func exampleFile(name string) (string, error) {
	picture := image.NewRGBA(image.Rect(0, 0, 64, 48))
	for x := range 64 {
		for y := range 48 {
			picture.Set(x, y, color.RGBA{uint8(4 * x), uint8(5 * y), 128, 255})
		}
	}
	var content bytes.Buffer
	var err error
	switch path.Ext(name) {
	case ".jpg":
		err = jpeg.Encode(&content, picture, nil)
	case ".png":
		err = png.Encode(&content, picture)
	case ".webp": // the standard library cannot encode these
		var webp []byte
		webp, err = base64.StdEncoding.DecodeString("UklGRhwCAABXRUJQVlA4IBACAACwDgCdASpgAEAAPhkKhEGhBK6BswQAYSzAF2Zf/4DzL8Rvx1+WOqP3X755PH0aY8vWr4oe758/8w7gIjt2Xaq8aCZ3lqPOO52TVO8c+E0EqnWCuV9e8+hyc+VhSwBQsoR/rq6deCJCfITzUSDBdKDt8L7UJ8sMxvIWXtt78cAA/v/+WTSudNiWuTCmhtf/2/brg4RtQNQ20YQ/+4qkdiTwul/XLHYT9SN66Ok0J3ytTE18+pxIclEfXPElgBnCmNrDssPdTkgBl/JHiuiazsb/TEPxixFNrYCoaAewjp8eW4DZ08fFUVUgtdz4zwe1DwjtTyjdyoCS1XWe5HVeIdPRa6MKO/Nu0lj15eZd8GhpATNX9jy2VI034AkqaUdCHqPhVQuwWyScZ4pJ/5d1s9EVTMHKNllUrpApwHsUh1g5lQujdFA6y0U4rbiZVc29XBxEV8u74b1wrxr+oHSs/x52ReBGKdOmkJ4mtPvS8pFH5ps35QT2Z9N84V3RcoUwjRUCuytf/dHIRHVdKw/KOqYlo6lR1KdOO4P0elw3JlmYDrI0LUMX0QtykpvIRx09d4QeA4IZSLlV8TLpu0iq5wM0nKkZ8PF0fHR4Mrydzz1j0ofSQjs7IFavpkPyaIDh2s5cnhrr5BrXlIT+t343p7c4u3vB2FiO3zrqut8U2OxZ/gKtqDgKO3x8OmrZbRgAAAA=")
		content.Write(webp)
	default:
		err = fmt.Errorf("there is no example for the file %s", name)
	}
	return content.String(), err
}

// ExampleImages returns the contents of the images that the document names as examples, by the names of their files.
func ExampleImages() (map[string]string, error) {
	images := map[string]string{}
	for _, name := range []string{"rex.jpg", "rex.png", "rex.webp"} {
		content, err := exampleFile(name)
		if err != nil {
			return nil, err
		}
		images[name] = content
	}
	return images, nil
}
