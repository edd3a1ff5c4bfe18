package shop

import (
	"context"
	"crypto/rand"
	"time"
)

// SessionLifetime is how long a session lasts. It is long enough for a working day.
const SessionLifetime = 12 * time.Hour

// Session is created when someone signs in with a key. It is stored so that every node can find it. It cannot
// outlast the secret that was used to sign in.
type Session struct {
	Secret SecretHash // the hash of the secret that was used to sign in
	EndsAt time.Time
}

// SignIn opens a session and returns its token, which is a random text that is stored only as a hash. SignIn
// fails with the same errors as Authenticate.
func (s *Service) SignIn(ctx context.Context, secret string) (token string, err error) {
	if _, err := s.Authenticate(ctx, secret); err != nil {
		return "", err
	}
	token = rand.Text()
	err = s.bookkeep(ctx, func(tx BookkeepingTx) error {
		return tx.InsertSession(HashSecret(token), Session{HashSecret(secret), s.now().Add(SessionLifetime)})
	})
	return token, err
}

// SessionPrincipal returns the principal that opened a session. It fails with invalid_api_key if the session
// has ended or its secret has expired, and with unavailable if the store cannot be reached.
func (s *Service) SessionPrincipal(ctx context.Context, token string) (Principal, error) {
	type result struct {
		session Session
		found   bool
	}
	got, err := read(ctx, s, func(tx ReadTx) (result, error) {
		session, found, err := tx.Session(HashSecret(token))
		return result{session, found}, err
	})
	if err != nil {
		return Principal{}, err
	}
	if !got.found || isPast(got.session.EndsAt, s.now()) {
		return Principal{}, errInvalidKey()
	}
	return s.principal(ctx, got.session.Secret)
}

// SignOut ends a session. It returns no error if the token is unknown.
func (s *Service) SignOut(ctx context.Context, token string) error {
	return s.bookkeep(ctx, func(tx BookkeepingTx) error { return tx.DeleteSession(HashSecret(token)) })
}

// RemoveSessions removes the sessions that have ended.
func (s *Service) RemoveSessions(ctx context.Context) error {
	return s.inBatches(ctx, func(tx BookkeepingTx) (bool, error) { return tx.RemoveSessions(s.now()) })
}

// SessionReader contains the method of ReadTx that reads sessions.
type SessionReader interface {
	// Session returns the session for the hash of a token and whether there is one. The session may have
	// ended.
	Session(token SecretHash) (Session, bool, error)
}

// SessionBookkeeping contains the methods of Bookkeeping that change sessions.
type SessionBookkeeping interface {
	// InsertSession stores a session under the hash of its token.
	InsertSession(token SecretHash, session Session) error
	// DeleteSession removes a session if it exists.
	DeleteSession(token SecretHash) error
	// RemoveSessions removes some of the sessions that have ended and reports whether there may be more
	// to remove.
	RemoveSessions(now time.Time) (more bool, err error)
}
