// `client <port> <connections>`: connections of gorilla/websocket that talk to an echo until the input ends. Every answer
// must be the message that was sent at that place. Prints the number of answers.
package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

const window = 6

// A compressed message of more than 64 KiB on the wire does not move.
const mostCompressed = 60000

type message struct {
	kind int
	data []byte
}

func next(number int, compressed bool) message {
	sizes := []int{0, 1, 125, 126, 3000, 65535, 65536, 150000}
	size := sizes[rand.Intn(len(sizes))]
	head := strconv.Itoa(number) + " "
	if number%2 == 1 {
		return message{websocket.TextMessage, []byte(head + strings.Repeat("ü€🙂", size/9))}
	}
	if compressed {
		size = min(size, mostCompressed)
	}
	body := make([]byte, size)
	rand.Read(body)
	return message{websocket.BinaryMessage, append([]byte(head), body...)}
}

func talk(port string, number int, over <-chan struct{}) int {
	// A full buffer is a fragment.
	dialer := websocket.Dialer{EnableCompression: number%2 == 1, WriteBufferSize: 1 << (7 + number%8)}
	ws, _, err := dialer.Dial("ws://127.0.0.1:"+port+"/", nil)
	check(err)
	sent := make(chan message, window)
	go func() {
		defer close(sent)
		for count := 1; ; count++ {
			select {
			case <-over:
				return
			default:
			}
			message := next(count, dialer.EnableCompression)
			sent <- message
			writer, err := ws.NextWriter(message.kind)
			check(err)
			_, err = io.Copy(writer, bytes.NewReader(message.data))
			check(err)
			check(writer.Close())
			if count%10 == 0 {
				check(ws.WriteControl(websocket.PingMessage, []byte("in between"), time.Now().Add(time.Minute)))
			}
		}
	}()
	answers := 0
	for expected := range sent {
		kind, data, err := ws.ReadMessage()
		check(err)
		if kind != expected.kind || !bytes.Equal(data, expected.data) {
			check(fmt.Errorf("connection %d: answer %d is another one", number, answers))
		}
		answers++
	}
	check(ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""), time.Now().Add(time.Minute)))
	_, _, err = ws.ReadMessage()
	if !websocket.IsCloseError(err, 1000) {
		check(err)
	}
	return answers
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	connections, err := strconv.Atoi(os.Args[2])
	check(err)
	over := make(chan struct{})
	go func() {
		io.ReadAll(os.Stdin)
		close(over)
	}()
	var group sync.WaitGroup
	counts := make([]int, connections)
	for number := range counts {
		group.Add(1)
		go func() {
			counts[number] = talk(os.Args[1], number, over)
			group.Done()
		}()
	}
	group.Wait()
	total := 0
	for _, count := range counts {
		total += count
	}
	fmt.Println(total)
}
