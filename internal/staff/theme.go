package staff

import "net/http"

// theme is a choice of colours. The empty value follows the system.
type theme struct{ Value, Label, Icon string }

var themes = []theme{{"", "Auto", "screen"}, {"light", "Light", "sun"}, {"dark", "Dark", "moon"}}

const themeCookie = "animalstore_theme"

// theme returns the theme that the user has chosen, or "" to follow the system.
func (x *exchange) theme() string {
	cookie, err := x.r.Cookie(themeCookie)
	if err != nil {
		return ""
	}
	return knownTheme(cookie.Value)
}

// knownTheme returns value if it is the value of a theme, and "" if it is not.
func knownTheme(value string) string {
	for _, theme := range themes {
		if theme.Value == value {
			return value
		}
	}
	return ""
}

// setTheme stores the chosen theme in a cookie. A script applies it to the open page. Without scripts, the
// page is loaded again.
func (p *Pages) setTheme(x *exchange) error {
	value := knownTheme(x.field("theme"))
	cookie := &http.Cookie{
		Name: themeCookie, Value: value, Path: x.base + "/", MaxAge: 365 * 24 * 60 * 60,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: x.overTLS(),
	}
	if value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(x.w, cookie)
	if x.partial() {
		x.trigger("theme", value)
		return x.send(http.StatusOK, "text/html; charset=utf-8", nil)
	}
	return x.redirect(x.backOr("/"))
}
