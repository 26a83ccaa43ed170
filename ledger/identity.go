package ledger

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"slices"
	"strings"

	"agentsync/ledger/durable"
)

const (
	identityFile = "identity.key"
	maxIdentity  = 4 << 10 // bytes
	pemType      = "PRIVATE KEY"
)

// Identity is the key pair of this installation's owner.
type Identity struct {
	key ed25519.PrivateKey
	did string
}

// OpenIdentity reads the owner's key file and makes it, once and durably, when absent;
// random is read for that only. A file that holds no such key is a *CorruptError: no
// new key ever takes its place, since everything published belongs to the old one.
func OpenIdentity(s *State, random io.Reader) (*Identity, error) {
	identity, err := ReadIdentity(s)
	if !errors.Is(err, fs.ErrNotExist) {
		return identity, err
	}
	content, err := newKeyFile(random)
	if err == nil {
		err = durable.Create(s.disk, s.Path(identityFile), content, privateFile)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make identity: %w", err)
	}
	return ReadIdentity(s) // ours, or that of a process that was faster
}

// ReadIdentity reads the owner's key file; fs.ErrNotExist when there is none.
func ReadIdentity(s *State) (*Identity, error) {
	path := s.Path(identityFile)
	content, err := readPrivate(s.disk, path, maxIdentity)
	if err != nil {
		return nil, fmt.Errorf("read identity: %w", err)
	}
	key, err := parseKeyFile(content)
	if err != nil {
		return nil, &CorruptError{Path: path, Field: "key", Err: err}
	}
	return &Identity{key: key, did: didOf(key.Public().(ed25519.PublicKey))}, nil
}

// DID is the owner's public key as a did:key.
func (i *Identity) DID() string { return i.did }

// Sign returns the 64 bytes of the Ed25519 signature over message.
func (i *Identity) Sign(message []byte) []byte { return ed25519.Sign(i.key, message) }

// ErrSignature reports a signature that the named key did not make over the message.
var ErrSignature = errors.New("signature does not match")

// VerifyDID returns nil if the Ed25519 key of did made signature over message,
// ErrSignature if not, and another error if did names no Ed25519 key.
func VerifyDID(did string, message, signature []byte) error {
	key, err := keyOf(did)
	if err != nil {
		return err
	}
	if !ed25519.Verify(key, message, signature) {
		return fmt.Errorf("verify for %s: %w", did, ErrSignature)
	}
	return nil
}

// newKeyFile returns a new key as a PKCS #8 block, the form other programs read too.
func newKeyFile(random io.Reader) ([]byte, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(random, seed); err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(seed))
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}), nil
}

func parseKeyFile(content []byte) (ed25519.PrivateKey, error) {
	block, rest := pem.Decode(content)
	if block == nil || block.Type != pemType || len(rest) != 0 {
		return nil, errors.New("not one private key block")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("not a private key")
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("not an Ed25519 key")
	}
	return key, nil
}

// A did:key is the multibase letter z and the base58 text of the key's multicodec
// number, 0xed as a varint, and its 32 bytes.
const (
	didLead     = "did:key:z"
	base58      = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	didKeyBytes = 2 + ed25519.PublicKeySize
	maxDIDText  = 48 // base58 letters of so many bytes; 34 bytes take 47 or 48
)

func didOf(key ed25519.PublicKey) string {
	return didLead + encodeBase58(append([]byte{0xed, 0x01}, key...))
}

func keyOf(did string) (ed25519.PublicKey, error) {
	text, ok := strings.CutPrefix(did, didLead)
	if !ok || len(text) > maxDIDText {
		return nil, fmt.Errorf("%.80q is not the did:key of an Ed25519 key", did)
	}
	raw, ok := decodeBase58(text)
	if !ok || len(raw) != didKeyBytes || raw[0] != 0xed || raw[1] != 0x01 {
		return nil, fmt.Errorf("%.80q is not the did:key of an Ed25519 key", did)
	}
	return ed25519.PublicKey(raw[2:]), nil
}

// encodeBase58 spells bytes as one big number; each leading zero byte is a "1".
func encodeBase58(raw []byte) string {
	var text []byte
	digit := new(big.Int)
	for rest := new(big.Int).SetBytes(raw); rest.Sign() > 0; {
		rest.DivMod(rest, base, digit)
		text = append(text, base58[digit.Int64()])
	}
	for i := 0; i < len(raw) && raw[i] == 0; i++ {
		text = append(text, base58[0])
	}
	slices.Reverse(text)
	return string(text)
}

// decodeBase58 reads what encodeBase58 wrote.
func decodeBase58(text string) ([]byte, bool) {
	zeros := len(text) - len(strings.TrimLeft(text, base58[:1]))
	number := new(big.Int)
	for i := range len(text) {
		digit := strings.IndexByte(base58, text[i])
		if digit < 0 {
			return nil, false
		}
		number.Mul(number, base)
		number.Add(number, big.NewInt(int64(digit)))
	}
	return append(make([]byte, zeros), number.Bytes()...), true
}

var base = big.NewInt(int64(len(base58)))
