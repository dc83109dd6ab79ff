package eventstream

// over is what is kept of data beyond the limit: how many there are, how they
// begin and how they end.
type over struct {
	size int64
	head []byte
	ring []byte // the last bytes
	next int    // where in ring the next one goes, once it is full
}

func (o *over) add(b []byte) {
	o.size += int64(len(b))
	o.head = append(o.head, b[:min(len(b), headSize-len(o.head))]...)
	if len(b) >= tailSize {
		o.ring, o.next = append(o.ring[:0], b[len(b)-tailSize:]...), 0
		return
	}
	n := min(len(b), tailSize-len(o.ring))
	o.ring = append(o.ring, b[:n]...)
	for b = b[n:]; len(b) > 0; b = b[n:] {
		n = copy(o.ring[o.next:], b)
		o.next = (o.next + n) % tailSize
	}
}

// tail returns the last bytes in their order.
func (o *over) tail() []byte {
	return append(append(make([]byte, 0, len(o.ring)), o.ring[o.next:]...), o.ring[:o.next]...)
}
