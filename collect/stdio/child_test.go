package stdio

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// roleVariable makes the test binary a child that misbehaves as told.
const roleVariable = "STDIO_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role))
	}
	os.Exit(m.Run())
}

// child is the command that plays a role: words of which the first names it.
func child(t testing.TB, role ...string) Command {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Command{Path: program, Env: append(needed(), roleVariable+"="+strings.Join(role, " "))}
}

// needed is what a program of Go cannot start without on Windows, and where coverage goes.
func needed() []string {
	var env []string
	for _, name := range []string{"SystemRoot", "GOCOVERDIR"} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// start starts a role and has it ended with the test.
func start(t testing.TB, c Command) *Process {
	t.Helper()
	p, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(0) })
	return p
}

func play(role string) int {
	words := strings.Fields(role)
	number := 0
	if len(words) > 1 {
		number, _ = strconv.Atoi(words[1])
	}
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer out.Flush()
	switch words[0] {
	case "echo":
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "torn":
		fmt.Fprint(out, "whole\nhalf of a li")
	case "exit":
		return number
	case "long": // one line of number bytes, and one after it
		piece := bytes.Repeat([]byte("x"), 1<<20)
		for ; number > 0; number -= len(piece) {
			out.Write(piece[:min(number, len(piece))])
		}
		fmt.Fprint(out, "\r\nafter\n")
	case "stderr":
		os.Stderr.Write(bytes.Repeat([]byte("."), number))
		fmt.Fprintln(os.Stderr, "the last words")
	case "environment":
		fmt.Fprintln(out, len(os.Environ()), len(os.Args))
	case "deaf", "mute": // reads nothing and ends by no asking; says when it is that far, or nothing
		signal.Ignore(syscall.SIGTERM)
		if words[0] == "deaf" {
			fmt.Println("deaf")
		}
		time.Sleep(time.Hour)
	case "flood":
		for range number {
			fmt.Fprintln(out, `{"method":"item/delta","params":{"threadId":"t","delta":"word "}}`)
		}
		out.Flush()
		rpc(out)
	case "rpc":
		rpc(out)
	default:
		return playUnix(words, number)
	}
	return 0
}

// rpc answers requests as their method says.
func rpc(out *bufio.Writer) {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	say := func(format string, a ...any) {
		fmt.Fprintf(out, format+"\n", a...)
		out.Flush()
	}
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			JSONRPC string
			ID      json.RawMessage
			Method  string
			Params  json.RawMessage
			Result  json.RawMessage
			Error   json.RawMessage
		}
		if err := json.Unmarshal(line, &m); err != nil {
			say(`{"method":"broken"}`)
			continue
		}
		switch m.Method {
		case "echo":
			say(`{"id":%s,"result":%s}`, m.ID, m.Params)
		case "form":
			say(`{"id":%s,"result":{"jsonrpc":"%s"}}`, m.ID, m.JSONRPC)
		case "fail":
			say(`{"id":%s,"error":{"code":-32000,"message":"private words","data":{"a":1}}}`, m.ID)
		case "twice":
			say(`{"id":%s,"result":1}`+"\n"+`{"id":%s,"result":2}`, m.ID, m.ID)
		case "strange":
			say("Debugger listening\n[1,2]\n\n" + `{"id":"1","result":1}` + "\n" + `{"id":null,"error":{"code":1,"message":""}}` + "\n" + `{"id":999,"result":1}`)
			say(`{"id":%s,"result":"strange"}`, m.ID)
		case "broken":
			say(`{"id":%s,"result":`, m.ID)
		case "exit":
			fmt.Fprintf(out, `{"id":%s,"res`, m.ID)
			return
		case "ask": // a request with the id of the call itself, and then the answer to that
			say(`{"id":%s,"method":"approve","params":{"n":1}}`, m.ID)
			answer, _ := in.ReadBytes('\n')
			say(`{"id":%s,"result":%s}`, m.ID, bytes.TrimSpace(answer))
		case "count":
			for i := range 1000 {
				say(`{"method":"n","params":%d}`, i)
			}
			say(`{"id":%s,"result":null}`, m.ID)
		}
	}
}
