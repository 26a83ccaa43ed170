package value

import "iter"

type tape struct{}

func (t *tape) reset()                                      { panic("stub") }
func (t *tape) size() int                                   { panic("stub") }
func (t *tape) capture([]byte) (Captured, error)            { panic("stub") }
func (t *tape) capturePrefix([]byte) (Captured, int, error) { panic("stub") }
func (v Value) kind() Kind                                  { panic("stub") }
func (v Value) text() []byte                                { panic("stub") }
func (v Value) float() float64                              { panic("stub") }
func (v Value) integer() (int64, bool)                      { panic("stub") }
func (v Value) length() int                                 { panic("stub") }
func (v Value) get(string) (Value, bool)                    { panic("stub") }
func (v Value) elements() iter.Seq[Value]                   { panic("stub") }
func (v Value) members() iter.Seq2[[]byte, Value]           { panic("stub") }

// Builder lays a value on a fresh tape by calls: Record, Key, …, End, then Finish.
type Builder struct{}

// NewBuilder starts an empty value.
func NewBuilder() *Builder { panic("stub") }

// Record opens a record; End closes it.
func (b *Builder) Record() *Builder { panic("stub") }

// Array opens an array; End closes it.
func (b *Builder) Array() *Builder { panic("stub") }

// End closes the innermost open array or record.
func (b *Builder) End() *Builder { panic("stub") }

// Key names the next member of the open record.
func (b *Builder) Key(k string) *Builder { panic("stub") }

// String adds a string of WTF-8 bytes.
func (b *Builder) String(s string) *Builder { panic("stub") }

// Number adds a double.
func (b *Builder) Number(f float64) *Builder { panic("stub") }

// Int adds a whole number within ±2^53.
func (b *Builder) Int(n int64) *Builder { panic("stub") }

// Bool adds true or false.
func (b *Builder) Bool(v bool) *Builder { panic("stub") }

// Null adds null.
func (b *Builder) Null() *Builder { panic("stub") }

// Undefined adds undefined.
func (b *Builder) Undefined() *Builder { panic("stub") }

// Bytes adds a byte string.
func (b *Builder) Bytes(p []byte) *Builder { panic("stub") }

// Value copies a captured value, from any tape.
func (b *Builder) Value(v Value) *Builder { panic("stub") }

// Finish returns the value built; it owns its tape.
func (b *Builder) Finish() Value { panic("stub") }

// AppendText appends the value's canonical fvj1 text, without the prefix.
func AppendText(dst []byte, v Value) []byte { panic("stub") }

// Prefix starts every fvj1 text.
const Prefix = "fvj1:"

// Parse reads an fvj1 text, prefix included. It is strict.
func Parse(text []byte) (Value, error) { panic("stub") }
