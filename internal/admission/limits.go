package admission

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// Kind is a kind of operation that has a limit of its own.
type Kind int

// The kinds of operations. The limits of the first group belong to a node, see New. Those of the second group belong to
// its store.
const (
	Requests Kind = iota
	EventStreams
	EventPages
	EventReads
	ToolCalls
	Imports
	Exports
	BodyMemory
	PageRequests
	PublicRequests
	LivePages
	PrintedLists
	PhotoBodies
	PhotoConversions
	PhotoMemory
	PhotoReads
	SentPhotos
	WindowRequests
	WindowReads
	Sitemaps

	HeavyReads
	SingleWrites
	ConflictRetries
	kinds
)

// Limit says how many operations of one kind may run and wait at the same time.
type Limit struct {
	Operations string        // what is limited: a plural noun for messages and for the table in SECURITY.md
	Total      int           // the maximum number of running operations; 0 if it depends on the machine, see Sized
	PerKey     int           // the maximum number of running operations of one key; 0 if keys have no shares
	Queue      int           // how many operations may wait in addition to Total; 0 if none may wait
	KeyQueue   int           // how many operations of one key may wait in addition to PerKey
	Wait       time.Duration // how long an operation may wait; 0 if the caller decides
	Pause      int           // how long a key must pause after an operation while more of its operations wait, as a multiple of the duration
	Late       string        // the message for an operation that has waited for Wait
	Size       string        // how Total depends on the machine, for the table in SECURITY.md
}

const (
	// Unlimited is the length of a queue without a limit. It is meant for operations that another limit bounds.
	Unlimited = math.MaxInt32
	// turnPause is the pause of operations that take long. A key with many of them is active for at most a quarter of
	// the time.
	turnPause = 3
	// maxWait is how long a request waits for its turn.
	maxWait = 10 * time.Second
	// smallBody is the size in bytes up to which a body does not count towards BodyMemory.
	smallBody = 4 << 10
)

// table contains all limits. The memory budget in docs/operating.md adds up the memory that they allow.
var table = [kinds]Limit{
	// Far more than a machine can process in parallel, but few enough for all of them to be served within about a
	// second. A request occupies its connection even while it waits, so a key's share is a third of the connections that
	// the program allows by default.
	Requests: {Operations: "requests in progress", Total: 1024, PerKey: maxKeyRequests},
	// A stream costs little more than its connection.
	EventStreams: {Operations: "event streams", Total: 500, PerKey: 125},
	// The pages of events that wait for EventReads or are being read.
	EventPages: {Operations: "pages of events waiting", Total: 256, PerKey: 64},
	// Reads of past events for pages, streams and live pages, which bound how many wait.
	EventReads: {Operations: "reads of past events", Total: 2, PerKey: 1, Queue: Unlimited, KeyQueue: Unlimited, Wait: maxWait, Pause: turnPause,
		Late: "Too many pages of events are being read; try again shortly."},
	// Messages of assistants. Each may hold several copies of a page in memory, encoded and decoded. They wait, because
	// assistants send several at the same time, and chance would otherwise decide which of them get an answer.
	ToolCalls: {Operations: "calls of tools", Total: 8, PerKey: 1, Queue: 248, KeyQueue: 63, Wait: maxWait, Pause: turnPause,
		Late: "Too many calls of tools are waiting; try again shortly."},
	// Each imported file is held in memory.
	Imports: {Operations: "imports", Total: 3, PerKey: 2},
	// Exports and printed lists. Each export reads the whole catalogue.
	Exports: {Operations: "exports", Total: 8, PerKey: 4},
	// The request bodies that are being received and the responses that have not been read yet.
	BodyMemory: {Operations: "bytes of requests and unread responses", Total: 16 << 20, PerKey: 4 << 20},
	// Requests for staff pages of users who are signed in. All open pages of a key may update at the same moment.
	PageRequests: {Operations: "requests for staff pages", Total: 256, PerKey: 128},
	// Requests for staff pages of users who are not signed in, who therefore cannot keep others out.
	PublicRequests: {Operations: "requests without a session", Total: 64},
	// Staff pages that update live.
	LivePages: {Operations: "open pages", Total: 500, PerKey: 125},
	// A printed list is the largest page, with up to 3.3 MB.
	PrintedLists: {Operations: "printed lists", Total: 4, PerKey: 1, Queue: 12, KeyQueue: 1, Pause: turnPause},
	// The images that are being received or wait for their turn. Those beyond the limit are refused before they are received.
	PhotoBodies: {Operations: "bytes of images that were sent as photos", Total: 64 << 20},
	// An image keeps a processor busy for about a second. The other half of them serves everybody else.
	PhotoConversions: {Operations: "images being converted", Queue: Unlimited, KeyQueue: Unlimited, Size: "half of the processors"},
	// The memory that decoding an image takes, as its header says, see MaxPhotoMemory. The memory for their bodies bounds how
	// many images wait.
	PhotoMemory: {Operations: "bytes of photos being decoded", Total: 128 << 20, Queue: Unlimited, KeyQueue: Unlimited},
	// Reads of photos from the store, for everybody who knows their URLs. They are few, so that strangers do not keep the
	// staff waiting.
	PhotoReads: {Operations: "reads of photos", Total: 2, Queue: 254, Wait: maxWait, Late: "Too many photos are being read; try again shortly."},
	// Photos and responses of the shop window that clients have not read yet.
	SentPhotos: {Operations: "bytes of photos and of the shop window being sent", Total: 16 << 20},
	// Requests for the shop window, which everybody may send. One that is answered from memory takes a fraction of a millisecond.
	WindowRequests: {Operations: "requests for the shop window", Total: 256},
	// Reads of the store for the shop window, and the pages that are made from them. They are few, so that strangers do not
	// keep the staff waiting.
	WindowReads: {Operations: "reads for the shop window", Total: 1, Queue: 255, Wait: maxWait, Late: "Too many people are looking at once; try again in a moment."},
	// A sitemap is the largest response, with up to 6 MB. It is made for each request, and not kept.
	Sitemaps: {Operations: "sitemaps being made and sent", Total: 1},

	// Searches, printed lists, exports, counts, checks of imports and replays of events. Those that wait are far fewer
	// than Requests, so they do not crowd out other requests.
	HeavyReads: {Operations: "searches, exports and counts", Queue: 256, KeyQueue: 64,
		Size: "SQLite: half of the readers, PostgreSQL: a quarter of the connections"},
	// Writes on PostgreSQL outside of groups, which may wait for locks. Requests bounds how many wait.
	SingleWrites: {Operations: "single writes on PostgreSQL", Queue: Unlimited, KeyQueue: Unlimited, Size: "half of the connections"},
	// Retries of these writes after a conflict. The budget of each write bounds how long it waits.
	ConflictRetries: {Operations: "retries after conflicts on PostgreSQL", Total: 1, PerKey: 1, Queue: Unlimited, KeyQueue: Unlimited},
}

// Limit returns the limit for operations of this kind.
func (k Kind) Limit() Limit { return table[k] }

// Sized returns the limit for a machine that can run this number of operations at the same time. One key gets half of
// them.
func (l Limit) Sized(total int) Limit {
	l.Total, l.PerKey = total, max(1, total/2)
	return l
}

// maxKeyRequests and minKeyRequests bound the requests in progress of one key.
const (
	maxKeyRequests = 333
	minKeyRequests = 16
)

// ForConnections returns the limit of Requests for a node that accepts this number of connections. A key gets a third of
// them, so that it cannot use nearly all. It gets at least minKeyRequests, for clients that send several requests at
// once.
func (l Limit) ForConnections(connections int) Limit {
	l.PerKey = min(max(connections/3, minKeyRequests), maxKeyRequests)
	return l
}

// The limits of how often something may happen.
const (
	// burstSeconds is for how many seconds' worth of requests a key may send at once.
	burstSeconds = 2
	// Requests from one network address may fail to sign in maxFailures times in a row, and after that failuresPerSecond
	// times per second.
	maxFailures       = 20
	failuresPerSecond = 1
)

// Frequency says how often something may happen on one connection.
type Frequency struct{ PerSecond, AtOnce int }

// Limiter returns a limiter for a new connection.
func (f Frequency) Limiter() *rate.Limiter { return rate.NewLimiter(rate.Limit(f.PerSecond), f.AtOnce) }

var (
	// Resets limits the requests that an HTTP/2 client resets. A client may reset all requests that it may have in progress.
	Resets = Frequency{PerSecond: 10, AtOnce: 100}
	// SmallFrames limits the small parts in which an HTTP/2 client accepts responses.
	SmallFrames = Frequency{PerSecond: 10, AtOnce: 100}
)

// MaxWaitingTexts is the number of texts that may wait for the search index. While this many wait, imports are refused, and
// other writes index their own texts. The last import before that may add three more for each of its 10,000 rows: a name and two
// texts of a profile.
const MaxWaitingTexts = 20_000

// The limits of an image that is sent as a photo.
const (
	// MaxPhotoBytes is the maximum size of the file.
	MaxPhotoBytes = 15 << 20
	// MaxPhotoSide is the maximum width and height, in pixels.
	MaxPhotoSide = 16_384
	// MaxPhotoPixels is the maximum number of pixels.
	MaxPhotoPixels = 50_000_000
	// MaxPhotoScans is the maximum number of scans of a JPEG file. A decoder needs as long for a scan of a few bytes as for
	// the whole image.
	MaxPhotoScans = 64
	// MaxPhotoMemory is the maximum amount of memory for decoding, in bytes. An image that needs more than the total of
	// PhotoMemory is decoded alone.
	MaxPhotoMemory = 256 << 20
	// MaxPhotoProfile is the maximum size of a colour profile that is kept, in bytes.
	MaxPhotoProfile = 64 << 10
)

// The limits of the log.
var (
	// StrangerLines limits the lines about requests without a valid API key, for each status.
	StrangerLines = LogLimit{Lines: 10, Interval: time.Second}
	// ConnectionErrors limits the messages of one kind about connections.
	ConnectionErrors = LogLimit{Lines: 1, Interval: 10 * time.Second}
	// BackgroundErrors limits the messages of one kind about background jobs.
	BackgroundErrors = LogLimit{Lines: 1, Interval: time.Minute}
)
