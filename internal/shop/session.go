package shop

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"time"
)

const (
	// SessionLifetime is how long a session lasts. It is long enough for a working day.
	SessionLifetime = 12 * time.Hour
	// LongSessionLifetime is how long a session lasts if the user asked to stay signed in.
	LongSessionLifetime = 30 * 24 * time.Hour
	// maxKeySessions is the maximum number of sessions of one key. Any further sign-in ends the oldest session.
	maxKeySessions = 50
	// maxListedSessions is the maximum number of sessions that a list contains.
	maxListedSessions = 200
)

// Session is created when someone signs in with a key. It is stored so that every node can find it. It cannot
// outlast the secret that was used to sign in.
type Session struct {
	ID         SecretHash // the hash of the session's token
	Secret     SecretHash // the hash of the secret that was used to sign in
	KeyID      int64      // the key of that secret, or 0 for the configured key or a revoked one
	KeyName    string
	Device     string    // the browser and its system in plain words, or "" if unknown
	CreatedAt  time.Time // zero if the session was created by version 1.0
	LastSeenAt time.Time // accurate to within a minute; zero if the session was created by version 1.0
	EndsAt     time.Time
}

// IDText returns the session's id as a text that can be used in a form. Nobody can sign in with it.
func (s Session) IDText() string { return hex.EncodeToString(s.ID[:]) }

// HasToken reports whether this is the session with the given token.
func (s Session) HasToken(token string) bool { return s.ID == HashSecret(token) }

// SessionList selects at most Limit of the sessions that have not ended at the time Now.
type SessionList struct {
	KeyID *int64 // only sessions of this key; 0 means sessions whose secret belongs to no stored key, and nil means all sessions
	Now   time.Time
	Limit int
}

// NewSession describes a session to be opened.
type NewSession struct {
	Device   string
	Keep     bool   // whether the session lasts for LongSessionLifetime instead of SessionLifetime
	Replaces string // the token of the same browser's previous session, which the new session ends; may be ""
}

// SignedIn is a new session. Its token is a random text that is stored only as a hash.
type SignedIn struct {
	Token     string
	Principal Principal
}

// SignIn opens a session. It fails with the same errors as Authenticate.
func (s *Service) SignIn(ctx context.Context, secret string, n NewSession) (SignedIn, error) {
	principal, err := s.Authenticate(ctx, secret)
	if err != nil {
		return SignedIn{}, err
	}
	token := rand.Text()
	err = s.bookkeep(ctx, func(tx BookkeepingTx) error { return s.openSession(tx, token, HashSecret(secret), n) })
	if err != nil {
		return SignedIn{}, err
	}
	return SignedIn{token, principal}, nil
}

// openSession stores a new session for a secret. It ends the session that the new one replaces and, if the key of the
// secret has too many sessions, the oldest ones.
func (s *Service) openSession(tx BookkeepingTx, token string, secret SecretHash, n NewSession) error {
	now, lifetime := s.now(), SessionLifetime
	if n.Keep {
		lifetime = LongSessionLifetime
	}
	if n.Replaces != "" {
		if err := tx.DeleteSession(HashSecret(n.Replaces)); err != nil {
			return err
		}
	}
	session := Session{ID: HashSecret(token), Secret: secret, Device: n.Device, CreatedAt: now, LastSeenAt: now, EndsAt: now.Add(lifetime)}
	// The clock may have been set back, so the new session may seem to be the oldest one.
	if err := tx.TrimSessions(secret, maxKeySessions-1); err != nil {
		return err
	}
	return tx.InsertSession(session)
}

// SessionPrincipal returns the principal that opened a session. It fails with invalid_api_key if the session
// has ended or its secret has expired, and with unavailable if the store cannot be reached.
func (s *Service) SessionPrincipal(ctx context.Context, token string) (Principal, error) {
	session, err := s.session(ctx, token)
	if err != nil {
		return Principal{}, err
	}
	return s.principal(ctx, session.Secret)
}

// session returns the session with the given token and records that it was used. It fails like
// SessionPrincipal, but does not check the secret.
func (s *Service) session(ctx context.Context, token string) (Session, error) {
	type result struct {
		session Session
		found   bool
	}
	got, err := read(ctx, s, Reading{}, func(tx ReadTx) (result, error) {
		session, found, err := tx.Session(HashSecret(token))
		return result{session, found}, err
	})
	if err != nil {
		return Session{}, err
	}
	now := s.now()
	if !got.found || isPast(got.session.EndsAt, now) {
		return Session{}, errInvalidKey()
	}
	if now.Sub(got.session.LastSeenAt) >= lastSeenPrecision {
		s.sessionUses.record(got.session.ID, now)
	}
	return got.session, nil
}

// SignOut ends a session. It returns no error if the token is unknown.
func (s *Service) SignOut(ctx context.Context, token string) error {
	return s.bookkeep(ctx, func(tx BookkeepingTx) error { return tx.DeleteSession(HashSecret(token)) })
}

// ListSessions returns the sessions that a principal may end. These are the sessions of the principal's own key or,
// if the principal has the admin scope, of all keys. It returns at most maxListedSessions, the most recently used
// first.
func (s *Service) ListSessions(ctx context.Context, p Principal) ([]Session, error) {
	list := SessionList{Now: s.now(), Limit: maxListedSessions}
	if !p.HasScope(Admin) {
		list.KeyID = new(p.ID())
	}
	sessions, err := read(ctx, s, Reading{}, func(tx ReadTx) ([]Session, error) { return tx.Sessions(list) })
	valid := sessions[:0]
	for _, session := range sessions {
		if session.KeyID == 0 {
			if !s.isConfigured(session.Secret) {
				// The session's key was revoked by version 1.0, or is the configured key of another node.
				continue
			}
			session.KeyName = s.configured.Name
		}
		session.LastSeenAt = s.sessionUses.of(session.ID, session.LastSeenAt)
		valid = append(valid, session)
	}
	slices.SortStableFunc(valid, func(a, b Session) int { return b.LastSeenAt.Compare(a.LastSeenAt) })
	return valid, err
}

// EndSession ends the session whose IDText is idText, and returns the session. It fails with not_found if there is no
// such session or the principal may not end it. Only a principal with the admin scope may end the sessions of other
// keys.
func (s *Service) EndSession(ctx context.Context, p Principal, idText string) (ended Session, err error) {
	bytes, err := hex.DecodeString(idText)
	if err != nil || len(bytes) != len(SecretHash{}) {
		return Session{}, errNoSession()
	}
	id := SecretHash(bytes)
	err = s.bookkeep(ctx, func(tx BookkeepingTx) error {
		session, found, err := tx.Session(id)
		if err != nil {
			return err
		}
		if !found || session.KeyID != p.ID() && !p.HasScope(Admin) {
			return errNoSession()
		}
		ended = session
		return tx.DeleteSession(id)
	})
	return ended, err
}

func errNoSession() error {
	return Errorf(NotFound, "This device is no longer signed in.")
}

// RemoveSessions removes the sessions and the sign-in links that have ended.
func (s *Service) RemoveSessions(ctx context.Context) error {
	return s.inBatches(ctx, func(tx BookkeepingTx) (bool, error) {
		cutoff, err := tx.Now()
		if err != nil {
			return false, err
		}
		if err := tx.RemoveSignInLinks(cutoff); err != nil {
			return false, err
		}
		return tx.RemoveSessions(s.now())
	})
}

// SessionReader contains the methods of ReadTx that read sessions.
type SessionReader interface {
	// Session returns the session with the given id and whether there is one. The session may have ended.
	Session(id SecretHash) (Session, bool, error)
	// Sessions returns at most list.Limit sessions that end after list.Now, the most recently seen first.
	Sessions(list SessionList) ([]Session, error)
}

// SessionBookkeeping contains the methods of Bookkeeping that change sessions.
type SessionBookkeeping interface {
	// InsertSession stores a session. It ignores KeyID and KeyName, which follow from the secret.
	InsertSession(Session) error
	// TrimSessions removes the oldest sessions of the key that a secret belongs to until at most keep of them are left. The
	// configured key has only this secret.
	TrimSessions(secret SecretHash, keep int) error
	// SetSessionLastSeen stores when a session was used, unless a later use is already stored. It does nothing
	// if the session has been removed.
	SetSessionLastSeen(id SecretHash, at time.Time) error
	// DeleteSession removes a session if it exists.
	DeleteSession(id SecretHash) error
	// RemoveSessions removes a limited number of the sessions that have ended and reports whether there may be more
	// to remove.
	RemoveSessions(now time.Time) (more bool, err error)
}
