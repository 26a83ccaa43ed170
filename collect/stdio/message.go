package stdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// Codes of the JSON-RPC standard.
const (
	methodNotFound = -32601
	internalError  = -32603
)

// RPCError is the other side's answer that a request failed. Message and Data are what it
// said: they are for matching, and may hold anything.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *RPCError) Error() string { return fmt.Sprintf("answered with error %d", e.Code) }

// incoming is a message of the other side, or the failure that takes an answer's place.
type incoming struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *RPCError       `json:"error"`

	failure error
}

// asks reports a message with a method that wants an answer.
func (m incoming) asks() bool { return len(m.ID) > 0 && string(m.ID) != "null" }

// number returns the id as one that we can have given out.
func (m incoming) number() (int64, bool) {
	n, err := strconv.ParseInt(string(m.ID), 10, 64)
	return n, err == nil
}

// outcome is what an answer says.
func (m incoming) outcome() (json.RawMessage, error) {
	switch {
	case m.failure != nil:
		return nil, m.failure
	case m.Error != nil:
		return nil, m.Error
	}
	return m.Result, nil
}

// decode reads one message. A line that does not begin as an object is what programs
// print besides their messages: it comes back as an answer to nothing. An object that
// cannot be read may be an answer somebody waits for: that is an error.
func decode(message []byte) (incoming, error) {
	var m incoming
	message = bytes.TrimLeft(message, " \t\r\n\ufeff")
	if len(message) == 0 || message[0] != '{' {
		return m, nil
	}
	if err := json.Unmarshal(message, &m); err != nil {
		return m, errors.New("a message that cannot be read: no JSON, or not of the form of JSON-RPC")
	}
	return m, nil
}

// envelope is a request, or without an id a notification.
type envelope struct {
	JSONRPC string `json:"jsonrpc,omitempty"`
	ID      int64  `json:"id,omitempty"`
	Method  string `json:"method"`
	Params  any    `json:"params,omitempty"`
}

func encode(e envelope, jsonrpc bool) ([]byte, error) {
	if jsonrpc {
		e.JSONRPC = "2.0"
	}
	message, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	return message, nil
}

// encodeAnswer writes an answer to the id as the other side wrote it.
func encodeAnswer(id json.RawMessage, result any, problem *RPCError, jsonrpc bool) ([]byte, error) {
	answer := struct {
		JSONRPC string          `json:"jsonrpc,omitempty"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result,omitempty"`
		Error   *RPCError       `json:"error,omitempty"`
	}{ID: id, Error: problem}
	if jsonrpc {
		answer.JSONRPC = "2.0"
	}
	if problem == nil {
		answer.Result = json.RawMessage("null") // an answer without one of the two is none
		if result != nil {
			answer.Result = result
		}
	}
	return json.Marshal(answer)
}
