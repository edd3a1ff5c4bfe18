package window

import (
	"cmp"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"animalstore/internal/shop"
	"animalstore/internal/web"
)

// age says in words how old an animal is, or "" if that is not known.
func age(p shop.WindowPet, today shop.Date) string {
	return web.Age(p.BirthDate, p.BirthDateEstimated, today)
}

// currencySigns are the signs that people know without their code.
var currencySigns = map[string]string{"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥", "INR": "₹", "KRW": "₩", "ILS": "₪", "UAH": "₴", "VND": "₫"}

// formatPrice formats a price without the zeros after the point, such as €250 or CHF 99.50.
func formatPrice(p shop.Price) string {
	if p.Amount == "" {
		return ""
	}
	whole, fraction, _ := strings.Cut(p.Amount, ".")
	if strings.Trim(fraction, "0") == "" {
		fraction = ""
	}
	whole = strings.TrimLeft(whole, "0")
	if whole == "" && fraction == "" {
		return "Free"
	}
	if whole == "" {
		whole = "0"
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "\u202f" + whole[i:] // a narrow space, because a point or a comma means something else elsewhere
	}
	if fraction != "" {
		whole += "." + fraction
	}
	if sign, known := currencySigns[p.Currency]; known {
		return sign + whole
	}
	return p.Currency + "\u00a0" + whole
}

func sizeWord(s shop.Size) string { return capitalized(strings.ReplaceAll(string(s), "-", " ")) }

// capitalized begins a text with a capital letter.
func capitalized(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// summary says the most important things about an animal in one line.
func summary(p shop.WindowPet, today shop.Date) string {
	var parts []string
	for _, part := range []string{breedOf(p), string(p.Sex), age(p, today)} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return capitalized(strings.Join(parts, " · "))
}

// breedOf returns the breed of an animal, or its category if the breed is not known.
func breedOf(p shop.WindowPet) string { return cmp.Or(web.Breeds(p.Breeds, shop.Unknown), p.Category) }

// maxDescription is the maximum length of a description for search engines, in characters.
const maxDescription = 160

// firstWords returns the beginning of a text as one line.
func firstWords(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= maxDescription {
		return text
	}
	text = string([]rune(text)[:maxDescription-1])
	if i := strings.LastIndexByte(text, ' '); i > maxDescription/2 {
		text = text[:i]
	}
	return text + "…"
}

// phoneNumber returns the characters of a phone number that a link may contain, or "" if it has too few digits.
func phoneNumber(text string) string {
	digits := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == '+' {
			return r
		}
		return -1
	}, text)
	if len(digits) < 3 {
		return ""
	}
	return digits
}

func mailAddress(address string) string {
	return strings.ReplaceAll(url.PathEscape(address), "%40", "@")
}

// escapeMail escapes a text in a mailto link, where a plus sign is not a space.
func escapeMail(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
