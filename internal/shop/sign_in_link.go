package shop

import (
	"context"
	"crypto/rand"
	"strings"
	"time"
)

// SignInLinkLifetime is how long a sign-in link can be used.
const SignInLinkLifetime = 10 * time.Minute

// signInPrefix is the prefix of the token of every sign-in link. It lets Redact recognise tokens.
const signInPrefix = "asl_"

// SignInLink allows someone who does not know the secret of a key to open one session for that key. Like a session, a
// link belongs to a secret and cannot outlast that secret.
type SignInLink struct {
	ID     SecretHash // the hash of the link's token
	Secret SecretHash
	EndsAt time.Time
}

// IssuedSignInLink is a sign-in link with its token. The token is returned only once and cannot be recovered.
type IssuedSignInLink struct {
	Token   string
	KeyName string
	EndsAt  time.Time
}

// CreateSignInLink creates a sign-in link for the key with the given id. A link that was created for the same
// key before and has not been used becomes invalid. CreateSignInLink fails with not_found if there is no such
// key, or with validation_failed if the key has expired.
func (s *Service) CreateSignInLink(ctx context.Context, keyID int64) (IssuedSignInLink, error) {
	return s.createSignInLink(ctx, func(tx ReadTx) (SecretHash, error) {
		if _, err := existingKey(tx, keyID); err != nil {
			return SecretHash{}, err
		}
		return tx.CurrentSecret(keyID)
	})
}

// CreateOwnSignInLink creates a sign-in link for the key that opened a session. The link belongs to the same secret
// as the session. Otherwise someone with an old secret could stay signed in after a rotation has replaced that
// secret. CreateOwnSignInLink fails like CreateSignInLink, or with invalid_api_key if the session has ended.
func (s *Service) CreateOwnSignInLink(ctx context.Context, token string) (IssuedSignInLink, error) {
	session, err := s.session(ctx, token)
	if err != nil {
		return IssuedSignInLink{}, err
	}
	return s.createSignInLink(ctx, func(ReadTx) (SecretHash, error) { return session.Secret, nil })
}

func (s *Service) createSignInLink(ctx context.Context, secretOf func(ReadTx) (SecretHash, error)) (issued IssuedSignInLink, err error) {
	token := signInPrefix + rand.Text()
	err = s.bookkeep(ctx, func(tx BookkeepingTx) error {
		secret, err := secretOf(tx)
		if err != nil {
			return err
		}
		key, valid, err := s.keyOfSecret(tx, secret)
		if err != nil {
			return err
		}
		if !valid {
			return Errorf(ValidationFailed, "The access with this key has ended, so nobody can sign in with it.")
		}
		now, err := tx.Now()
		if err != nil {
			return err
		}
		issued = IssuedSignInLink{token, key.Name, now.Add(SignInLinkLifetime)}
		return tx.PutSignInLink(SignInLink{HashSecret(token), secret, issued.EndsAt})
	})
	return issued, err
}

// keyOfSecret returns the key that a secret belongs to and whether both are valid. Unlike principal, it reads
// the key in the given transaction.
func (s *Service) keyOfSecret(tx ReadTx, secret SecretHash) (key Key, valid bool, err error) {
	if s.isConfigured(secret) {
		return *s.configured, true, nil
	}
	credential, found, err := tx.Credential(secret)
	return credential.Key, found && credential.validAt(s.now()), err
}

// SignInLinkPrincipal returns the principal that a sign-in link signs in. It does not use up the link. It fails with
// invalid_api_key if the link has expired or was used.
func (s *Service) SignInLinkPrincipal(ctx context.Context, token string) (Principal, error) {
	if !isSignInToken(token) {
		return Principal{}, errInvalidLink()
	}
	return read(ctx, s, Reading{}, func(tx ReadTx) (Principal, error) {
		link, found, err := tx.SignInLink(HashSecret(token))
		if err != nil {
			return Principal{}, err
		}
		key, err := s.validLink(tx, link, found)
		return Principal{key}, err
	})
}

// SignInWithLink uses up a sign-in link and opens a session for its key. If several calls use the same link, even on
// different nodes, only one of them succeeds. SignInWithLink fails with invalid_api_key if the link has expired or was
// used. It writes even then, so a caller that serves strangers calls SignInLinkPrincipal first.
func (s *Service) SignInWithLink(ctx context.Context, token string, n NewSession) (SignedIn, error) {
	if !isSignInToken(token) {
		return SignedIn{}, errInvalidLink()
	}
	in := SignedIn{Token: rand.Text()}
	err := s.bookkeep(ctx, func(tx BookkeepingTx) error {
		link, found, err := tx.TakeSignInLink(HashSecret(token))
		if err != nil {
			return err
		}
		key, err := s.validLink(tx, link, found)
		if err != nil {
			return err
		}
		in.Principal = Principal{key}
		return s.openSession(tx, in.Token, link.Secret, n)
	})
	if err != nil {
		return SignedIn{}, err
	}
	return in, nil
}

// validLink returns the key of a link that was found in the store. It fails with invalid_api_key if no link
// was found, the link has expired, or its key is no longer valid.
func (s *Service) validLink(tx ReadTx, link SignInLink, found bool) (Key, error) {
	if !found {
		return Key{}, errInvalidLink()
	}
	now, err := tx.Now()
	if err != nil {
		return Key{}, err
	}
	if isPast(link.EndsAt, now) {
		return Key{}, errInvalidLink()
	}
	key, valid, err := s.keyOfSecret(tx, link.Secret)
	if err == nil && !valid {
		err = errInvalidLink()
	}
	return key, err
}

// isSignInToken reports whether a text has the form of a sign-in token, so that other texts need no query.
func isSignInToken(text string) bool {
	rest, ok := strings.CutPrefix(text, signInPrefix)
	return ok && len(rest) == len(rand.Text())
}

func errInvalidLink() error {
	return Errorf(InvalidAPIKey, "This sign-in link has expired or was already used; ask for a new one.")
}

// SignInLinkReader contains the method of ReadTx that reads sign-in links.
type SignInLinkReader interface {
	// SignInLink returns the link with the given id and whether there is one. The link may have expired.
	SignInLink(id SecretHash) (SignInLink, bool, error)
}

// SignInLinkBookkeeping contains the methods of Bookkeeping that change sign-in links.
type SignInLinkBookkeeping interface {
	// PutSignInLink stores a link and removes the earlier link of the same secret.
	PutSignInLink(SignInLink) error
	// TakeSignInLink removes a link and returns it and whether there was one. If several transactions take the same
	// link and commit, only one of them gets it.
	TakeSignInLink(id SecretHash) (SignInLink, bool, error)
	// RemoveSignInLinks removes the links that have expired.
	RemoveSignInLinks(now time.Time) error
}
