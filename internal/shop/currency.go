package shop

import (
	"fmt"
	"strings"
)

// currencies are the codes of ISO 4217 for money, by the number of digits after the decimal point.
var currencies = [...]string{
	0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
	2: "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY COP COU CRC " +
		"CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW " +
		"KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP " +
		"PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN " +
		"UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG",
	3: "BHD IQD JOD KWD LYD OMR TND",
	4: "CLF UYW",
}

// currencyDigits returns the number of digits that amounts in a currency have after the decimal point. known is false if
// code is not a currency of ISO 4217.
func currencyDigits(code string) (digits int, known bool) {
	if len(code) != 3 || strings.Contains(code, " ") {
		return 0, false
	}
	for digits, codes := range currencies {
		if strings.Contains(codes, code) {
			return digits, true
		}
	}
	return 0, false
}

// CurrencyDigits returns the number of digits that amounts in a currency have after the decimal point. It is 0 if code is not
// a currency of ISO 4217.
func CurrencyDigits(code string) int {
	digits, _ := currencyDigits(code)
	return digits
}

// Price is an amount of money. The zero value means that there is no price.
type Price struct {
	Amount   string `json:"amount"`   // a decimal number such as 250.00
	Currency string `json:"currency"` // a code of ISO 4217
}

// maxPriceDigits is the maximum number of digits before the decimal point.
const maxPriceDigits = 9

// Problems validates a price.
func (p Price) Problems() (problems Problems) {
	digits, known := currencyDigits(p.Currency)
	if !known {
		problems.Add("price.currency", "must be a currency code of ISO 4217, such as EUR")
	}
	whole, fraction, point := strings.Cut(p.Amount, ".")
	switch {
	case !isDigits(whole) || point && !isDigits(fraction):
		problems.Add("price.amount", `must be a decimal number of 0 or more as a string, such as "250.00"`)
	case len(whole) > maxPriceDigits:
		problems.Add("price.amount", fmt.Sprintf("must have at most %d digits before the point", maxPriceDigits))
	case known && digits == 0 && point:
		problems.Add("price.amount", "must be a whole number in "+p.Currency)
	case known && len(fraction) > digits:
		problems.Add("price.amount", fmt.Sprintf("must have at most %d digits after the point in %s", digits, p.Currency))
	}
	return problems
}

// sameAs reports whether two prices are the same amount of money, such as 250 and 250.00 EUR.
func (p Price) sameAs(other Price) bool {
	return p.Currency == other.Currency && other.Amount != "" && canonicalAmount(p.Amount) == canonicalAmount(other.Amount)
}

// canonicalAmount returns an amount without zeros that do not change it.
func canonicalAmount(amount string) string {
	if strings.Contains(amount, ".") {
		amount = strings.TrimSuffix(strings.TrimRight(amount, "0"), ".")
	}
	return strings.TrimLeft(amount, "0")
}

// isDigits reports whether a text consists of at least one ASCII digit and nothing else.
func isDigits(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}
