package value

import "bytes"

// Skip returns the length of the JSON value at the start of text, without blanks
// before it. It only looks for the end: the value must have been captured once and be
// followed by a comma, a closing bracket, a blank, or nothing. What is no JSON gives a
// length or an error, never more than text has.
func Skip(text []byte) (int, error) {
	depth := 0
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			n := skipString(text[i:])
			if n < 0 {
				return 0, &SyntaxError{Offset: i, Reason: "string does not end"}
			}
			if i += n; depth == 0 {
				return i, nil
			}
			continue
		case c == '{' || c == '[':
			depth++
		case depth == 0 && (c == ',' || c == '}' || c == ']' || c <= ' '):
			if i == 0 {
				return 0, &SyntaxError{Offset: 0, Reason: "no value"}
			}
			return i, nil // after a number or a word
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1, nil
			}
		}
		i++
	}
	if depth > 0 || len(text) == 0 {
		return 0, &SyntaxError{Offset: len(text), Reason: "value does not end"}
	}
	return len(text), nil
}

// skipString returns the length of the string that starts text, -1 when it does not end.
func skipString(text []byte) int {
	for i := 1; ; i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		slashes := 0
		for text[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}
