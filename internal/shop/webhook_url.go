package shop

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// maxURL is the maximum length of a webhook's URL.
const maxURL = 2000

// webhookURL matches the URLs of webhooks, as the OpenAPI document describes them: a host, and optionally a port, a path
// and a query.
var webhookURL = regexp.MustCompile(`^https?://(([!$&'()*+,.0-9;=A-Z_a-z~-]|%[89A-F][0-9A-F])+|\[[%.0-9:A-Za-z-]+\])(:0*[1-9][0-9]{0,4})?(/([!$&-;=@A-Z\[\]_a-z~]|%[0-9A-Fa-f]{2})*)?(\?[!$-;=?-~]*)?$`)

// webhookURLProblem explains why text is not an absolute HTTP or HTTPS URL that can be sent unchanged in a request
// line. It returns "" if text is such a URL.
func webhookURLProblem(text string) string {
	u, err := url.Parse(text)
	if err == nil && len(text) <= maxURL && webhookURL.MatchString(text) && u.String() == text && hasValidPort(u) {
		return ""
	}
	return fmt.Sprintf("must be a URL such as https://example.com/hook, with at most %d ASCII characters and without credentials or a fragment", maxURL)
}

// hasValidPort reports whether a URL has either no port or a port from 1 to 65535.
func hasValidPort(u *url.URL) bool {
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && port > 0 || u.Port() == "" && !strings.HasSuffix(u.Host, ":")
}
