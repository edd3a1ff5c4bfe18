package staff

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"animalstore/internal/shop"
)

// devicesPage is the template data for the list of the devices that are signed in.
type devicesPage struct {
	KeyName string
	Scopes  []shop.Scope
	Own     []deviceRow
	Others  []deviceRow // the devices of other keys, which only an administrator sees
	Problem string
}

// deviceRow is a session with the device that it was opened on.
type deviceRow struct {
	shop.Session
	Current bool // whether this is the session in which the user is looking at the page
}

// SeenNow reports whether the device was used just now. LastSeenAt is accurate only to the minute.
func (r deviceRow) SeenNow(now time.Time) bool {
	return r.Current || now.Sub(r.LastSeenAt) < 2*time.Minute
}

func (p *Pages) devices(x *exchange) error { return x.showDevices(http.StatusOK, devicesPage{}) }

func (x *exchange) showDevices(status int, page devicesPage) error {
	key, err := x.Service.CurrentKey(x.r.Context(), x.principal)
	if err != nil {
		return err
	}
	page.KeyName, page.Scopes = personName(key.ID, key.Name), key.Scopes
	sessions, err := x.Service.ListSessions(x.r.Context(), x.principal)
	if err != nil {
		return err
	}
	for _, session := range sessions {
		session.KeyName = personName(session.KeyID, session.KeyName)
		row := deviceRow{session, session.HasToken(x.token)}
		if session.KeyID == x.principal.ID() {
			page.Own = append(page.Own, row)
		} else {
			page.Others = append(page.Others, row)
		}
	}
	return x.show(status, "devices", "Devices", page)
}

// endDevice signs a device out.
func (p *Pages) endDevice(x *exchange) error {
	session, err := p.Service.EndSession(x.r.Context(), x.principal, x.field("session"))
	if err != nil {
		return showProblem(err, func(problem string) error {
			return x.showDevices(statusOf(shop.AsError(err).Code), devicesPage{Problem: problem})
		})
	}
	p.Log.Info("signed out", "request", x.id, "key", keyActor(session.KeyID), "device", session.Device, "by", x.principal.Actor())
	if session.HasToken(x.token) {
		x.setCookie("", 0)
		return x.redirect("/staff/sign-in")
	}
	return x.redirect("/staff/devices")
}

// endOtherDevices signs out every device of the user except the one that the user is looking at.
func (p *Pages) endOtherDevices(x *exchange) error {
	sessions, err := p.Service.ListSessions(x.r.Context(), x.principal)
	if err != nil {
		return err
	}
	n := 0
	for _, session := range sessions {
		if session.KeyID != x.principal.ID() || session.HasToken(x.token) {
			continue
		}
		if _, err := p.Service.EndSession(x.r.Context(), x.principal, session.IDText()); err != nil && !isNotFound(err) {
			return err
		}
		p.Log.Info("signed out", "request", x.id, "key", keyActor(session.KeyID), "device", session.Device, "by", x.principal.Actor())
		n++
	}
	x.flash("%s signed out.", count(n, "other device"))
	return x.redirect("/staff/devices")
}

// keyActor returns the name that the log uses for a key.
func keyActor(id int64) string {
	if id == 0 {
		return "configured"
	}
	return fmt.Sprintf("keys/%d", id)
}

// browserNames and systemNames map parts of a User-Agent header to the names of browsers and systems. The first match
// counts, because browsers also name other browsers with which they are compatible.
var (
	browserNames = [][2]string{{"Edg", "Edge"}, {"OPR/", "Opera"}, {"SamsungBrowser/", "Samsung Internet"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"},
		{"CriOS/", "Chrome"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}}
	systemNames = [][2]string{{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"CrOS", "ChromeOS"}, {"Windows", "Windows"},
		{"Macintosh", "Mac"}, {"Linux", "Linux"}}
)

// deviceName describes the browser and the system that sent a User-Agent header, such as "Chrome on Android".
func deviceName(userAgent string) string {
	first := func(names [][2]string) string {
		for _, name := range names {
			if strings.Contains(userAgent, name[0]) {
				return name[1]
			}
		}
		return ""
	}
	browser, system := first(browserNames), first(systemNames)
	switch {
	case browser == "" && system == "":
		return "Unknown device"
	case browser == "":
		return "Browser on " + system
	case system == "":
		return browser
	}
	return browser + " on " + system
}
