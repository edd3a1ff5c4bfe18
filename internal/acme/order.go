package acme

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"golang.org/x/crypto/acme"
)

// maxTries is the maximum number of times that a request is sent if the authority is overloaded or asks for a new
// nonce.
const maxTries = 4

// obtain orders a certificate for all domains and stores it in the folder.
func (m *Manager) obtain(ctx context.Context) (*tls.Certificate, error) {
	account, err := m.Folder.accountKey()
	if err != nil {
		return nil, err
	}
	client := &acme.Client{HTTPClient: m.client, Key: account, DirectoryURL: m.Directory, UserAgent: m.UserAgent, RetryBackoff: backoff}
	if err := m.register(ctx, client); err != nil {
		return nil, fmt.Errorf("cannot register with the authority: %w", err)
	}
	order, err := client.AuthorizeOrder(ctx, acme.DomainIDs(m.Domains...))
	if err != nil {
		return nil, fmt.Errorf("the authority refuses the order: %w", err)
	}
	for _, url := range order.AuthzURLs {
		if err := m.authorize(ctx, client, url); err != nil {
			return nil, err
		}
	}
	if _, err := client.WaitOrder(ctx, order.URI); err != nil {
		return nil, fmt.Errorf("the authority does not complete the order: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: m.Domains}, key)
	if err != nil {
		return nil, err
	}
	chain, err := finalize(ctx, client, order, request)
	if err != nil {
		return nil, fmt.Errorf("the authority issues no certificate: %w", err)
	}
	return m.Folder.storeCertificate(key, chain)
}

// finalize sends the certificate request and returns the certificate chain.
func finalize(ctx context.Context, client *acme.Client, order *acme.Order, request []byte) ([][]byte, error) {
	chain, _, err := client.CreateOrderCert(ctx, order.FinalizeURL, request, true)
	if err == nil {
		return chain, nil
	}
	// CreateOrderCert has failed. It polls the URL in the response's Location header, but authorities need not send
	// this header. Therefore, poll the order's own URL.
	done, waitErr := client.WaitOrder(ctx, order.URI)
	if waitErr != nil || done.CertURL == "" {
		return nil, err
	}
	return client.FetchCert(ctx, done.CertURL, true)
}

// register creates the account or, if it already exists, updates its email address.
func (m *Manager) register(ctx context.Context, client *acme.Client) error {
	account := &acme.Account{}
	if m.Email != "" {
		account.Contact = []string{"mailto:" + m.Email}
	}
	_, err := client.Register(ctx, account, acme.AcceptTOS)
	if !errors.Is(err, acme.ErrAccountAlreadyExists) {
		return err
	}
	if m.Email != "" {
		_, err = client.UpdateReg(ctx, account)
		return err
	}
	return nil
}

// authorize proves to the authority that one domain points to this service.
func (m *Manager) authorize(ctx context.Context, client *acme.Client, url string) error {
	authorization, err := client.GetAuthorization(ctx, url)
	if err != nil {
		return fmt.Errorf("cannot read an authorization: %w", err)
	}
	if authorization.Status == acme.StatusValid {
		return nil
	}
	domain := authorization.Identifier.Value
	i := slices.IndexFunc(authorization.Challenges, func(c *acme.Challenge) bool { return c.Type == "tls-alpn-01" })
	if i < 0 {
		return fmt.Errorf("the authority does not offer the challenge tls-alpn-01 for %s", domain)
	}
	challenge := authorization.Challenges[i]
	answer, err := client.TLSALPN01ChallengeCert(challenge.Token, domain)
	if err != nil {
		return err
	}
	m.setChallenge(domain, &answer)
	defer m.setChallenge(domain, nil)
	if _, err := client.Accept(ctx, challenge); err != nil {
		return fmt.Errorf("the authority does not examine %s: %w", domain, err)
	}
	if _, err := client.WaitAuthorization(ctx, url); err != nil {
		return fmt.Errorf("the authority cannot confirm that %s leads to this service: %w", domain, err)
	}
	return nil
}

// backoff returns the pause before the next try, or -1 after maxTries tries. Without backoff, the client would retry
// until the context ends.
func backoff(tries int, _ *http.Request, _ *http.Response) time.Duration {
	if tries >= maxTries {
		return -1
	}
	return time.Duration(tries) * time.Second
}
