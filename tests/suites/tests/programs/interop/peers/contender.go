// A contender of go-zookeeper's zk.Lock: contender SERVERS PATH NAME SESSION_TIMEOUT_MS RECIPE.
// Takes orders and reports as the binary contender of zk-tests does, which says how.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/samuel/go-zookeeper/zk"
)

const clockMonotonic = 1

var printing sync.Mutex

func say(word string, rest string) {
	printing.Lock()
	defer printing.Unlock()
	var now syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&now)), 0)
	fmt.Println(strings.TrimSpace(fmt.Sprintf("%s %d %s", word, now.Nano(), rest)))
}

// Not 0 once the session is about to end, which ends what waits.
var ending int32

func must(err error) {
	if err != nil && atomic.LoadInt32(&ending) == 0 {
		say("fails", err.Error())
		os.Exit(1)
	}
}

// The events of the session, until it has begun and from then on.
func heard(events <-chan zk.Event, begun chan<- bool) {
	for event := range events {
		switch event.State {
		case zk.StateHasSession:
			select {
			case begun <- true:
			default:
			}
		case zk.StateDisconnected, zk.StateExpired:
			say("loses", event.State.String())
		}
	}
}

func main() {
	// The library knows no chroot.
	servers, chroot, _ := strings.Cut(os.Args[1], "/")
	path := "/" + chroot + os.Args[2]
	timeout, err := strconv.Atoi(os.Args[4])
	must(err)
	connection, events, err := zk.Connect([]string{servers}, time.Duration(timeout)*time.Millisecond)
	must(err)
	begun := make(chan bool, 1)
	go heard(events, begun)
	<-begun
	lock := zk.NewLock(connection, path, zk.WorldACL(zk.PermAll))
	orders := make(chan string, 2)
	go func() {
		for range orders {
			must(lock.Lock())
			say("holds", "")
			<-orders
			say("releases", "")
			must(lock.Unlock())
		}
	}()
	say("ready", "")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		orders <- lines.Text()
	}
	atomic.StoreInt32(&ending, 1)
	connection.Close()
	os.Exit(0)
}
