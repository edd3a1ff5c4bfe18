package server

import (
	"net"
	"net/http"
)

// plainListener accepts connections without TLS.
type plainListener struct {
	*limitListener
	malformed func(w http.ResponseWriter, r *http.Request, refusal *http.Response)
}

// Accept returns the next connection.
func (l *plainListener) Accept() (net.Conn, error) {
	c, err := l.accept()
	if err != nil {
		return nil, err
	}
	return &http1Conn{halfCloser: c, limited: c, malformed: l.malformed}, nil
}
