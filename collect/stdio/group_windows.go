package stdio

import (
	"fmt"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// members is a job: the child and all that it starts. It ends with its last handle, so
// also when this process is killed.
type members windows.Handle

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type accounting struct {
	times           [4]int64
	pageFaults      uint32
	processes       uint32
	activeProcesses uint32
	terminated      uint32
}

// startMembers starts the command suspended and lets it run inside a job, so that no
// child of it can be outside.
func startMembers(cmd *exec.Cmd) (members, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, fmt.Errorf("create a job: %w", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		_ = windows.CloseHandle(job)
		return 0, fmt.Errorf("limit a job: %w", err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
	if err := cmd.Start(); err != nil {
		_ = windows.CloseHandle(job)
		return 0, err
	}
	if err := enter(job, uint32(cmd.Process.Pid)); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = windows.CloseHandle(job)
		return 0, err
	}
	return members(job), nil
}

// enter puts a suspended process into the job and lets it run.
func enter(job windows.Handle, id uint32) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, id)
	if err != nil {
		return fmt.Errorf("open process %d: %w", id, err)
	}
	defer windows.CloseHandle(process)
	if err := windows.AssignProcessToJobObject(job, process); err != nil {
		return fmt.Errorf("put process %d into a job: %w", id, err)
	}
	all, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	defer windows.CloseHandle(all)
	entry := windows.ThreadEntry32{}
	entry.Size = uint32(unsafe.Sizeof(entry))
	for err = windows.Thread32First(all, &entry); err == nil; err = windows.Thread32Next(all, &entry) {
		if entry.OwnerProcessID == id {
			return resume(entry.ThreadID)
		}
	}
	return fmt.Errorf("find the thread of process %d: %w", id, err)
}

func resume(id uint32) error {
	thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, id)
	if err != nil {
		return fmt.Errorf("open thread %d: %w", id, err)
	}
	defer windows.CloseHandle(thread)
	if _, err := windows.ResumeThread(thread); err != nil {
		return fmt.Errorf("resume thread %d: %w", id, err)
	}
	return nil
}

// ask does nothing: a program without a window cannot be asked here. The end of its
// input was the question.
func (m members) ask() {}

func (m members) kill() { _ = windows.TerminateJobObject(windows.Handle(m), 1) }

func (m members) empty() bool {
	var a accounting
	err := windows.QueryInformationJobObject(windows.Handle(m), windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&a)), uint32(unsafe.Sizeof(a)), nil)
	return err == nil && a.activeProcesses == 0
}

func (m members) release() { _ = windows.CloseHandle(windows.Handle(m)) }

// relatives are none: nobody leaves a job.
func (m members) relatives() []relative { return nil }

func (r relative) alive() bool { return false }
func (r relative) ask()        {}
func (r relative) kill()       {}
