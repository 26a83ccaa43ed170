//go:build unix

package stdio

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// playUnix plays the roles that need what only Unix has.
func playUnix(words []string, number int) int {
	if words[0] == "politely" { // ends when asked to, with a code of its own
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		fmt.Println("ready")
		<-asked
		return 7
	}
	program, err := os.Executable()
	if err != nil {
		return 1
	}
	next := &exec.Cmd{Path: program, Args: []string{program}, Stdin: os.Stdin, Stdout: os.Stdout}
	switch words[0] {
	case "wrapper": // a child in the group, deaf, and its number; deaf itself
		signal.Ignore(syscall.SIGTERM)
		next.Env = []string{roleVariable + "=mute"}
		if next.Start() != nil {
			return 1
		}
		fmt.Println(next.Process.Pid)
		time.Sleep(time.Hour)
	case "leaves": // a deaf child in the group, and ends
		next.Env = []string{roleVariable + "=mute"}
		if next.Start() != nil {
			return 1
		}
		fmt.Println(next.Process.Pid)
	case "tool": // a deaf child in a session of its own, and ends with its input
		next.Env, next.Stdin = []string{roleVariable + "=mute"}, nil
		next.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if next.Start() != nil {
			return 1
		}
		fmt.Println(next.Process.Pid)
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "daemon": // a child in a session of its own that keeps stdout, and ends
		next.Env = []string{roleVariable + "=mute"}
		next.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if next.Start() != nil {
			return 1
		}
		fmt.Println(next.Process.Pid)
	case "parent": // runs a wrapper through this package, and waits to be killed
		p, err := Start(Command{Path: program, Env: []string{roleVariable + "=" + words[1]}})
		if err != nil {
			return 1
		}
		fmt.Println(p.cmd.Process.Pid)
		line, err := p.Read()
		fmt.Println(string(line), err)
		time.Sleep(time.Hour)
	default:
		return 99
	}
	return 0
}
