package lines

import "bytes"

// nesting follows the brackets of a torn record, to tell a record that was written
// behind the tear from a member of the torn record itself.
type nesting struct {
	open     []byte // brackets still open
	done     int    // bytes read
	inString bool
	escaped  bool
	last     byte // the last byte that was neither blank nor within a string
}

// read goes on to the end of text, of which it has read the beginning before.
func (s *nesting) read(text []byte) {
	for _, b := range text[s.done:] {
		s.step(b)
	}
	s.done = len(text)
}

func (s *nesting) step(b byte) {
	if s.inString {
		switch {
		case s.escaped:
			s.escaped = false
		case b == '\\':
			s.escaped = true
		case b == '"':
			s.inString = false
		}
		return
	}
	switch b {
	case ' ', '\t', '\r', '\n':
		return
	case '"':
		s.inString = true
	case '{', '[':
		s.open = append(s.open, b)
	case '}', ']':
		if len(s.open) > 0 {
			s.open = s.open[:len(s.open)-1]
		}
	}
	s.last = b
}

// member reports that record, which follows the torn text read so far, is to be taken
// for a part of it: a value may stand there, and it does not begin like the torn record.
func (s *nesting) member(torn, record []byte) bool {
	if s.inString || !s.valueExpected() {
		return false
	}
	return !beginsAlike(torn, record)
}

func (s *nesting) valueExpected() bool {
	if len(s.open) == 0 {
		return false
	}
	inArray := s.open[len(s.open)-1] == '['
	return s.last == ':' && !inArray || inArray && (s.last == '[' || s.last == ',')
}

// beginsAlike compares the first two keys of two records; a writer that repeats itself
// behind a tear uses the same ones. What the torn record lacks is not compared.
func beginsAlike(torn, record []byte) bool {
	mine, theirs := firstKeys(torn), firstKeys(record)
	for i, key := range mine {
		if key == nil {
			return i > 0
		}
		if !bytes.Equal(key, theirs[i]) {
			return false
		}
	}
	return true
}

// firstKeys finds the first two keys of a record that may be torn, nil where there is none.
func firstKeys(record []byte) (keys [2][]byte) {
	record = trimBOM(record)
	record = record[blankRun(record):]
	if len(record) == 0 || record[0] != '{' {
		return keys
	}
	var s nesting
	found, start := 0, -1
	for i, b := range record {
		was := s.inString
		s.step(b)
		if len(s.open) != 1 || found == len(keys) {
			if found == len(keys) {
				return keys
			}
			continue
		}
		switch {
		case !was && s.inString:
			start = i
		case !was && b == ':' && start >= 0:
			keys[found] = record[start:i]
			found++
		case b == ',' && !was:
			start = -1
		}
	}
	return keys
}
