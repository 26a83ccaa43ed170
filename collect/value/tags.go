package value

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// The doubles of SpecialNumber@1 and their names.
var (
	specialNames = []string{"-0", "NaN", "+Infinity", "-Infinity"}
	specials     = []float64{math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1)}
)

// kinds are the tags of the primitives that are one text.
var kinds = map[string]Kind{
	"BigInt@1": BigInt, "EpochNsec@1": EpochNsec, "EpochDay@1": EpochDay,
	"DurationNsec@1": DurationNsec, "DurationDay@1": DurationDay,
}

// tagged decodes the state under a tag (spec 3: the table of tags).
func (d decoder) tagged(tag string, state Value) error {
	if !isTag(tag) {
		return fmt.Errorf("malformed tag %.40q", tag)
	}
	var err error
	switch tag {
	case "Undefined@1":
		if state.Kind() != Null {
			err = errors.New("state is not null")
		}
		d.b.Undefined()
	case "SpecialNumber@1":
		err = d.special(state)
	case "Symbol@1":
		if state.Kind() != String {
			err = errors.New("state is not a string")
		}
		d.b.Symbol(state.Str())
	case "BigInt@1", "EpochNsec@1", "EpochDay@1", "DurationNsec@1", "DurationDay@1":
		err = d.integer(kinds[tag], state)
	case "Bytes@1":
		var p []byte
		p, err = octetsOf(state)
		d.b.Bytes(p)
	case "Hash@1", "RegExp@1", "KeyPair@1", "Unavailable@1":
		err = d.compound(tag, state)
	default:
		return d.instance(tag, state)
	}
	if err != nil {
		return fmt.Errorf("tag %s: %w", tag, err)
	}
	return nil
}

// isTag reports the form [A-Z][A-Za-z0-9]*@[1-9][0-9]*.
func isTag(s string) bool {
	name, version, ok := strings.Cut(s, "@")
	if !ok || name == "" || version == "" || name[0] < 'A' || name[0] > 'Z' || version[0] == '0' {
		return false
	}
	for _, c := range []byte(name) {
		if lower := c | 0x20; (lower < 'a' || lower > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return strings.Trim(version, "0123456789") == ""
}

func (d decoder) special(state Value) error {
	i := slices.Index(specialNames, state.Str())
	if i < 0 {
		return errors.New("state is none of -0, NaN, +Infinity, -Infinity")
	}
	d.b.Number(specials[i])
	return nil
}

func (d decoder) integer(k Kind, state Value) error {
	p, err := octetsOf(state)
	if err != nil {
		return err
	}
	if len(p) == 0 || len(minimal(p)) != len(p) {
		return errors.New("integer is not in its fewest bytes")
	}
	d.b.Integer(k, p)
	return nil
}

// octetsOf reads base64url, unpadded or with exactly the padding of RFC 4648.
func octetsOf(v Value) ([]byte, error) {
	s := v.Str()
	if v.Kind() != String || strings.ContainsAny(s, "\r\n") {
		return nil, errors.New("state is not base64url")
	}
	code := base64.RawURLEncoding
	if strings.HasSuffix(s, "=") {
		code = base64.URLEncoding
	}
	p, err := code.Strict().DecodeString(s)
	if err != nil {
		return nil, errors.New("state is not base64url")
	}
	return p, nil
}

// instance decodes the state of an instance, or of a tag that is not known here.
func (d decoder) instance(tag string, state Value) error {
	at := uint32(len(d.b.t.nodes))
	d.b.Instance(tag)
	if err := d.value(state); err != nil {
		return err
	}
	d.b.End()
	decoded := Value{d.b.t, at + 2} // after the instance and its tag
	var err error
	switch tag {
	case "Error@1":
		err = d.errorState(decoded)
	case "Problematic@1":
		err = shape(decoded, map[string]want{"error": {String, true}, "state": {Invalid, true}, "tag": {String, true}})
	case "Link@1":
		if decoded.Kind() != Record {
			err = errors.New("state is not a record")
		}
	}
	if err != nil {
		return fmt.Errorf("tag %s: %w", tag, err)
	}
	return nil
}

// errorState checks an error's state. A name equal to the type is written as null.
func (d decoder) errorState(v Value) error {
	kind, _ := v.Get("type")
	name, named := v.Get("name")
	message, _ := v.Get("message")
	stack, stacked := v.Get("stack")
	if v.Kind() != Record || kind.Kind() != String || message.Kind() != String ||
		!named || name.Kind() != String && name.Kind() != Null || stacked && stack.Kind() != String {
		return errors.New("state is not a record of type, name, message and optionally stack")
	}
	if name.Kind() == String && name.Str() == kind.Str() {
		*name.node() = node{kind: Null}
	}
	return nil
}

// want is the kind a field must have, Invalid for any, and whether it must be there.
type want struct {
	kind   Kind
	needed bool
}

// shape checks that a record has the wanted fields and no others.
func shape(v Value, fields map[string]want) error {
	if v.Kind() != Record {
		return errors.New("state is not a record")
	}
	for key, w := range fields {
		f, ok := v.Get(key)
		if !ok && w.needed {
			return fmt.Errorf("field %s is missing", key)
		}
		if ok && w.kind != Invalid && f.Kind() != w.kind {
			return fmt.Errorf("field %s is of the wrong kind", key)
		}
	}
	for i, f := 0, v.Fields(); i < f.Len(); i++ {
		if _, ok := fields[string(f.Key(i))]; !ok {
			return fmt.Errorf("unknown field %.40q", f.Key(i))
		}
	}
	return nil
}

// compound decodes the state of a primitive that has several parts.
func (d decoder) compound(tag string, state Value) error {
	switch tag {
	case "Hash@1":
		return d.hash(state)
	case "RegExp@1":
		return d.regExp(state)
	case "KeyPair@1":
		return d.keyPair(state)
	}
	return d.unavailable(state)
}

func (d decoder) hash(state Value) error {
	if err := shape(state, map[string]want{"hash": {String, true}, "tag": {String, true}}); err != nil {
		return err
	}
	p, err := octetsOf(state.Path("hash"))
	d.b.Hash(state.Path("tag").Str(), p)
	return err
}

func (d decoder) regExp(state Value) error {
	err := shape(state, map[string]want{"flags": {String, true}, "flavor": {String, true}, "source": {String, true}})
	if err != nil {
		return err
	}
	source, flags, flavor := state.Path("source").Str(), state.Path("flags").Str(), state.Path("flavor").Str()
	if flavor == "es2025" {
		if err := checkRegExp(source, flags); err != nil {
			return err
		}
	}
	d.b.RegExp(source, flags, flavor)
	return nil
}

func (d decoder) keyPair(state Value) error {
	err := shape(state, map[string]want{"algorithm": {String, true}, "privateKey": {String, true}, "publicKey": {String, true}})
	if err != nil {
		return err
	}
	public, err := octetsOf(state.Path("publicKey"))
	if err != nil {
		return err
	}
	private, err := octetsOf(state.Path("privateKey"))
	d.b.KeyPair(state.Path("algorithm").Str(), public, private)
	return err
}

var (
	reasons    = []string{"pending", "syncing", "error"}
	errorKinds = []string{"general", "schemaMismatch", "invalidInput", "network", "decode", "compile", "provider", "sync"}
)

func (d decoder) unavailable(state Value) error {
	err := shape(state, map[string]want{"reason": {String, true}, "errorKind": {String, false}, "errorMessage": {String, false}})
	if err != nil {
		return err
	}
	reason, kind, message := state.Path("reason").Str(), textOf(state, "errorKind"), textOf(state, "errorMessage")
	switch {
	case !slices.Contains(reasons, reason):
		return errors.New("unknown reason")
	case reason != "error" && (kind != nil || message != nil):
		return errors.New("error fields under another reason")
	case reason == "error" && (kind == nil || !slices.Contains(errorKinds, *kind)):
		return errors.New("reason error without a known errorKind")
	}
	d.b.Unavailable(reason, kind, message)
	return nil
}

// textOf returns a record's string, nil when it is missing.
func textOf(v Value, key string) *string {
	f, ok := v.Get(key)
	if !ok {
		return nil
	}
	s := f.Str()
	return &s
}
