package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"agentsync/hashgraph/digest"
)

// NameError reports a name that no store may be asked for. Nothing was read or written.
type NameError struct {
	Name   string
	Reason string
}

func (e *NameError) Error() string { return fmt.Sprintf("store name %.120q %s", e.Name, e.Reason) }

const (
	maxName    = 1024 // bytes; the longest key a bucket takes
	maxSegment = 255  // bytes; the longest file name common file systems take
)

// reserved is the folder where a store on a disk stages content.
const reserved = "tmp"

// CheckName returns a *NameError unless name is relative, slash-separated, UTF-8 and
// harmless on every store: no empty, "." or ".." segment, no backslash, no control
// byte, nothing below the staging folder, no more bytes than a bucket or a disk takes.
func CheckName(name string) error {
	switch {
	case name == "":
		return &NameError{name, "is empty"}
	case len(name) > maxName:
		return &NameError{name, "is too long"}
	case !utf8.ValidString(name):
		return &NameError{name, "is not UTF-8"}
	}
	for i := range len(name) {
		if c := name[i]; c < 0x20 || c == 0x7f || c == '\\' {
			return &NameError{name, "holds a control byte or a backslash"}
		}
	}
	for rest, more := name, true; more; {
		var segment string
		segment, rest, more = strings.Cut(rest, "/")
		switch {
		case segment == "":
			return &NameError{name, "has an empty segment"}
		case segment == "." || segment == "..":
			return &NameError{name, "leads elsewhere"}
		case len(segment) > maxSegment:
			return &NameError{name, "has a segment that is too long"}
		}
	}
	if first, _, _ := strings.Cut(name, "/"); strings.EqualFold(first, reserved) {
		return &NameError{name, "is reserved for staging"}
	}
	return nil
}

// CheckPrefix returns a *NameError unless prefix is "" or a good name and a slash.
func CheckPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	folder, slash := strings.CutSuffix(prefix, "/")
	if !slash {
		return &NameError{prefix, "is no folder name: a slash must end it"}
	}
	return CheckName(folder)
}

// PackName is the name of the pack whose whole content has the digest d.
func PackName(d digest.Digest) string {
	hex := d.Hex()
	return "packs/" + hex[:2] + "/" + hex + ".pack"
}

// ParsePackName reads back what PackName wrote; a *NameError otherwise.
func ParsePackName(name string) (digest.Digest, error) {
	return parseDigestName(name, PackName, len("packs/00/"), len(".pack"))
}

// ObjectName is the name of the file content with the digest d, in a dataset of
// directory synchronisation.
func ObjectName(d digest.Digest) string {
	hex := d.Hex()
	return "objects/" + hex[:2] + "/" + hex
}

// ParseObjectName reads back what ObjectName wrote; a *NameError otherwise.
func ParseObjectName(name string) (digest.Digest, error) {
	return parseDigestName(name, ObjectName, len("objects/00/"), 0)
}

// parseDigestName takes the digits from between the lead and the tail, and accepts
// only the name that the same digits give again.
func parseDigestName(name string, give func(digest.Digest) string, lead, tail int) (digest.Digest, error) {
	if len(name) == lead+2*len(digest.Digest{})+tail {
		d, err := digest.Parse(name[lead : len(name)-tail])
		if err == nil && give(d) == name {
			return d, nil
		}
	}
	return digest.Digest{}, &NameError{name, "does not hold a digest in its place"}
}

// MaxHead is the highest number a head can have: twelve nines.
const MaxHead = 999_999_999_999

// HeadName is the name of the n-th state of the root called root, a single segment. It
// checks neither: a store refuses a bad root, ParseHeadName whatever is not a head.
func HeadName(root string, n uint64) string {
	return fmt.Sprintf("%s%012d.json", HeadPrefix(root), n)
}

// HeadPrefix is the folder of a root's heads, for List.
func HeadPrefix(root string) string { return "heads/" + root + "/" }

// HintName is the name of a root's hint, a recent head number that nobody trusts.
func HintName(root string) string { return HeadPrefix(root) + "hint" }

// ParseHeadName reads back what HeadName wrote; a *NameError otherwise, also for a hint.
func ParseHeadName(name string) (root string, n uint64, err error) {
	rest, below := strings.CutPrefix(name, "heads/")
	root, file, nested := strings.Cut(rest, "/")
	digits, ends := strings.CutSuffix(file, ".json")
	n, numErr := strconv.ParseUint(digits, 10, 64)
	if !below || !nested || !ends || numErr != nil || n > MaxHead || HeadName(root, n) != name {
		return "", 0, &NameError{name, "is not the name of a head"}
	}
	return root, n, CheckName(name)
}

// PutOnce stores content under name, durably, if nothing has the name. Where the name
// is taken by equal content, that is an earlier success of our own and PutOnce
// succeeds; by other content, the error is ErrExists and nothing has changed.
// After any other error the name may or may not exist: the same call may be repeated.
func PutOnce(ctx context.Context, s Store, name string, content []byte) error {
	if err := CheckName(name); err != nil {
		return err
	}
	staged, err := s.Stage(ctx)
	if err != nil {
		return fmt.Errorf("put %s: %w", name, err)
	}
	if _, err := staged.Write(content); err != nil {
		return fmt.Errorf("put %s: %w", name, errors.Join(err, staged.Discard()))
	}
	err = staged.Commit(ctx, name)
	if err == nil || !errors.Is(err, ErrExists) {
		return err
	}
	same, compareErr := holds(ctx, s, name, content)
	if compareErr != nil {
		return fmt.Errorf("compare %s with what is stored: %w", name, compareErr)
	}
	if same {
		return nil
	}
	return err
}

// holds reports whether the name has exactly the content.
func holds(ctx context.Context, s Store, name string, content []byte) (bool, error) {
	size, err := s.Stat(ctx, name)
	if err != nil || size != int64(len(content)) {
		return false, err
	}
	stored, err := s.Get(ctx, name, 0, size, make([]byte, 0, size))
	return bytes.Equal(stored, content), err
}
