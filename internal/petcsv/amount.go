package petcsv

import (
	"regexp"
	"strings"

	"animalstore/internal/shop"
)

// amountEvidence is what the amounts of a column say about their decimal separator.
type amountEvidence struct {
	point, comma bool // whether the sign separates the decimals of an amount
	bare         bool // whether there is an amount without a currency
}

// writtenAmount is an amount with the currency as people write it, before or after the number.
type writtenAmount struct {
	number   string // digits, points and commas
	currency string // such as €, EUR or $, or ""
}

var (
	writtenNumber = regexp.MustCompile(`[0-9]([0-9.,'’\pZ]*[0-9])?`)
	noDecimals    = regexp.MustCompile(`^[.,][-–—]*`) // 250,- means 250
	digitSpaces   = regexp.MustCompile(`['’\pZ]`)
)

// splitAmount separates a number from its currency. ok is false if the cell is not an amount.
func splitAmount(cell string) (amount writtenAmount, ok bool) {
	at := writtenNumber.FindStringIndex(cell)
	if at == nil {
		return amount, false
	}
	before, after := strings.TrimSpace(cell[:at[0]]), noDecimals.ReplaceAllString(cell[at[1]:], "")
	after = strings.TrimSpace(after)
	if before != "" && after != "" || strings.ContainsAny(after, "0123456789") {
		return amount, false
	}
	return writtenAmount{digitSpaces.ReplaceAllString(cell[at[0]:at[1]], ""), before + after}, true
}

func (e *amountEvidence) add(cell string) {
	amount, ok := splitAmount(cell)
	if !ok {
		return
	}
	e.bare = e.bare || amount.currency == ""
	if at := strings.LastIndexAny(amount.number, ".,"); at >= 0 && (len(amount.number)-at-1 < 3 || strings.ContainsAny(amount.number[:at], ".,") && strings.Count(amount.number, amount.number[at:at+1]) == 1) {
		e.point = e.point || amount.number[at] == '.'
		e.comma = e.comma || amount.number[at] == ','
	}
}

// decimal returns a number as a decimal number with a point. Three digits after a sign that occurs alone are thousands,
// unless other amounts of the column have decimals after this sign or the currency has three digits after the point. ok
// is false if the number could mean two things, or nothing.
func (e amountEvidence) decimal(number string, digits int) (amount string, ok bool) {
	at := strings.LastIndexAny(number, ".,")
	if at < 0 {
		return number, true
	}
	sign, whole, rest := number[at:at+1], number[:at], number[at+1:]
	others := strings.ContainsAny(whole, ".,")
	switch {
	case others && strings.Contains(whole, sign): // 1.250.000
		return joinThousands(number, sign)
	case others: // 1.250,00
		whole, ok = joinThousands(whole, string(".,"[strings.IndexByte(",.", sign[0])]))
		return whole + "." + rest, ok
	case len(rest) != 3 || whole == "0":
		return whole + "." + rest, true
	case digits >= 3:
		return whole + "." + rest, sign == "."
	case sign == "." && e.point || sign == "," && e.comma:
		return "", false
	}
	return joinThousands(number, sign)
}

// joinThousands removes the signs between groups of three digits. ok is false if a group is of another size.
func joinThousands(number, sign string) (joined string, ok bool) {
	for i, group := range strings.Split(number, sign) {
		if len(group) > 3 || len(group) == 0 || i > 0 && len(group) < 3 || strings.ContainsAny(group, ".,") {
			return "", false
		}
		joined += group
	}
	return joined, true
}

// currencySigns are the signs of currencies. If several currencies share a sign, the shop's own comes first, and
// otherwise the first one of the list; none is meant if the list begins with a hyphen.
var currencySigns = map[string]string{
	"€": "EUR", "EURO": "EUR", "£": "GBP", "$": "USD AUD CAD NZD SGD HKD MXN", "US$": "USD", "A$": "AUD", "C$": "CAD", "NZ$": "NZD", "R$": "BRL",
	"¥": "JPY CNY", "₹": "INR", "FR": "CHF", "SFR": "CHF", "ZŁ": "PLN", "KČ": "CZK", "KR": "- SEK NOK DKK ISK", "FT": "HUF", "LEI": "RON", "₽": "RUB", "₺": "TRY",
}

// currencyOf returns the code of a currency as people write it. The parameter own is the currency that a sign means if it
// is one of several. It returns "" if it does not know the currency.
func currencyOf(written, own string) string {
	written = strings.ToUpper(strings.TrimSuffix(written, "."))
	codes, found := currencySigns[written]
	switch {
	case found && own != "" && strings.Contains(codes, own):
		return own
	case found && codes[0] != '-':
		return codes[:3]
	case !found && shop.CurrencyProblem(written) == "":
		return written
	}
	return ""
}
