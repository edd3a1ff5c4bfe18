package web

import (
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// Age returns how old an animal is in whole years, months, weeks or days, such as "3 years". It returns "" if the date of
// birth is not known or in the future.
func Age(birthDate string, estimated shop.Answer, today shop.Date) string {
	born, err := shop.ParseDate(birthDate)
	if err != nil {
		return ""
	}
	text := ""
	days := int(today.UTC().Sub(born.UTC()).Hours() / 24)
	months := (today.Year-born.Year)*12 + int(today.Month-born.Month)
	if today.Day < born.Day {
		months--
	}
	switch {
	case days < 0:
		return ""
	case months >= 24:
		text = count(months/12, "year")
	case months >= 3:
		text = count(months, "month")
	case days >= 14:
		text = count(days/7, "week")
	default:
		text = count(days, "day")
	}
	if estimated == shop.Yes {
		text = "about " + text
	}
	return text
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// Breeds returns breeds in words.
func Breeds(breeds []string, mixed shop.Answer) string {
	text := strings.Join(breeds, " × ")
	switch {
	case mixed != shop.Yes:
		return text
	case text == "":
		return "Mixed"
	}
	return text + ", mixed"
}
