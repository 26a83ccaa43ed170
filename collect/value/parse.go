package value

import (
	"bytes"
	"errors"
	"fmt"
)

// ErrMalformed is wrapped by the errors of Parse for JSON that is no fvj1 value: an
// unknown marker, a tag with a state that is none of its own, a repeated key.
var ErrMalformed = errors.New("malformed fvj1 text")

// deep is how deep Parse reads: a captured value of the greatest depth whose every
// record is wrapped once more, and the document around it.
const deep = 2*MaxDepth + 64

// Parse reads an fvj1 text, prefix included. It is strict: besides what a strict JSON
// reader refuses, it refuses repeated keys, -0 and numbers beyond the double range,
// malformed tags and markers, non-minimal integers and loose base64url. The error is
// a *SyntaxError, or wraps ErrMalformed.
func Parse(text []byte) (Value, error) {
	body, ok := bytes.CutPrefix(text, []byte(Prefix))
	if !ok {
		return Value{}, &SyntaxError{Reason: "text does not start with " + Prefix}
	}
	t := new(Tape)
	s := scanner{b: body, t: &t.tape, depth: deep, exact: true}
	end, err := s.scan(mark{})
	if err == nil {
		err = s.trailing(end)
	}
	if err != nil {
		err.Offset += len(Prefix)
		return Value{}, err
	}
	if r := s.refusal; r.reason != "" {
		return Value{}, &SyntaxError{Offset: r.at + len(Prefix), Reason: r.reason}
	}
	v := Value{t, 0}
	if !s.slashed {
		return v, nil
	}
	d := decoder{NewBuilder()}
	if err := d.value(v); err != nil {
		return Value{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return d.b.Finish(), nil
}

// trailing refuses anything but blanks from end on.
func (s *scanner) trailing(end int) *SyntaxError {
	s.i = end
	if s.blanks(); s.i < len(s.b) {
		return &SyntaxError{Offset: s.i, Reason: "more text after the value"}
	}
	return nil
}

// decoder turns the JSON form of a value into the value.
type decoder struct{ b *Builder }

func (d decoder) value(v Value) error {
	switch v.kind() {
	case Array:
		return d.array(v)
	case Record:
		return d.record(v)
	}
	d.b.Value(v)
	return nil
}

func (d decoder) array(v Value) error {
	d.b.Array()
	total := uint64(0)
	for it := v.Items(); ; {
		e, ok := it.Next()
		if !ok {
			break
		}
		run, err := holeRun(e)
		if err != nil {
			return err
		}
		if total += max(run, 1); total > 1<<32-1 {
			return errors.New("array of more than 2^32-1 elements")
		}
		if run > 0 {
			d.b.Holes(uint32(run))
		} else if err := d.value(e); err != nil {
			return err
		}
	}
	d.b.End()
	return nil
}

// holeRun reads the marker of absent elements, 0 for any other element.
func holeRun(v Value) (uint64, error) {
	key, state := only(v)
	if key != "/hole" {
		return 0, nil
	}
	n, ok := state.Integer()
	if !ok || n < 1 || n > 1<<32-1 {
		return 0, errors.New("hole marker without a count of 1 to 2^32-1")
	}
	return uint64(n), nil
}

// only returns the one member of a record that has no other.
func only(v Value) (key string, state Value) {
	f := v.Fields()
	if f.Len() != 1 {
		return "", Value{}
	}
	return string(f.Key(0)), f.Value(0)
}

func (d decoder) record(v Value) error {
	key, state := only(v)
	switch {
	case key == "/quote":
		d.b.Value(state)
		return nil
	case key == "/object":
		if state.Kind() != Record {
			return errors.New("/object marker over what is no record")
		}
		return d.members(state)
	case len(key) > 0 && key[0] == '/':
		return d.tagged(key[1:], state)
	}
	for i, f := 0, v.Fields(); i < f.Len(); i++ {
		if k := f.Key(i); len(k) > 0 && k[0] == '/' {
			return fmt.Errorf("key %.40q beside others", k)
		}
	}
	return d.members(v)
}

func (d decoder) members(v Value) error {
	d.b.Record()
	for i, f := 0, v.Fields(); i < f.Len(); i++ {
		d.b.Key(string(f.Key(i)))
		if err := d.value(f.Value(i)); err != nil {
			return err
		}
	}
	d.b.End()
	return nil
}
