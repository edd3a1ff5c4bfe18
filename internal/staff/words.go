package staff

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"animalstore/internal/shop"
)

// shelterWords are the words that a shelter uses in place of those of a shop.
var shelterWords = map[string]string{
	"shop": "shelter", "sold": "adopted", "sale": "adoption", "sales": "adoptions", "price": "adoption fee", "customer": "adopter",
}

var shopWord = regexp.MustCompile(`(?i)\b(` + strings.Join(slices.Collect(maps.Keys(shelterWords)), "|") + `)\b`)

// word returns a text of the pages in the words of the shop or shelter. The text must not contain anything that users have
// entered.
func (p *Pages) word(text string) string {
	if p.Service.CurrentSettings().Kind != shop.KindShelter {
		return text
	}
	return shopWord.ReplaceAllStringFunc(text, func(word string) string {
		other := shelterWords[strings.ToLower(word)]
		if word[0] < 'a' { // a capital letter
			return strings.ToUpper(other[:1]) + other[1:]
		}
		return other
	})
}

// plainStatus returns the word of a shop for the status of an animal. An animal is reserved while its order is, which the
// API calls pending.
func plainStatus(status shop.Status) string {
	if status == shop.Pending {
		return "reserved"
	}
	return string(status)
}

// statusWord returns the word for the status of an animal.
func (p *Pages) statusWord(status shop.Status) string { return p.word(plainStatus(status)) }

// statusName returns the name of the status of an animal, an order or a delivery. A string is the status of an animal.
func (p *Pages) statusName(status any) string {
	var text string
	switch status := status.(type) {
	case shop.OrderStatus:
		text = orderStatusName(status)
	case shop.Status:
		text = plainStatus(status)
	case string:
		text = plainStatus(shop.Status(status))
	default:
		text = fmt.Sprint(status)
	}
	if text == "" {
		return "No status"
	}
	return p.word(capitalized(text))
}
