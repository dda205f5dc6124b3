// Package sarif has the part of SARIF 2.1.0 that findings are written in, as data. Names and their order are
// the specification's (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html); a number in a
// comment is its section.
//
// The libraries that there are cannot write all of it: go-sarif leaves out the empty list of suppressions
// that 3.27.23 wants of a result that is not suppressed when another is, and honnef.co/go/tools/sarif has
// no rule indexes, fingerprints or notifications.
package sarif

// Version and Schema are what a Log says of itself.
const (
	Version = "2.1.0"
	Schema  = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

// UTF16 is the unit of columns (3.14.17).
const UTF16 = "utf16CodeUnits"

// What became of a result since the baseline.
const (
	New       = "new"
	Unchanged = "unchanged"
)

// Log is a file (3.13).
type Log struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []Run  `json:"runs"`
}

// Run is one run of one tool (3.14).
type Run struct {
	Tool        Tool                        `json:"tool"`
	Invocations []Invocation                `json:"invocations"`
	Bases       map[string]ArtifactLocation `json:"originalUriBaseIds,omitempty"`
	ColumnKind  string                      `json:"columnKind"`
	Results     []Result                    `json:"results"` // not nil: an empty list says that nothing was found
}

// Tool is the tool and its extensions (3.18).
type Tool struct {
	Driver Component `json:"driver"`
}

// Component is a toolComponent (3.19).
type Component struct {
	Name            string `json:"name"`
	Version         string `json:"version,omitempty"`
	SemanticVersion string `json:"semanticVersion,omitempty"`
	InformationURI  string `json:"informationUri"`
	Rules           []Rule `json:"rules"`
}

// Rule is a reportingDescriptor (3.49).
type Rule struct {
	ID                   string        `json:"id"`
	ShortDescription     Text          `json:"shortDescription"`
	FullDescription      Text          `json:"fullDescription"`
	Help                 Text          `json:"help"`
	HelpURI              string        `json:"helpUri"`
	DefaultConfiguration Configuration `json:"defaultConfiguration"`
}

// Text is a multiformatMessageString (3.12).
type Text struct {
	Text     string `json:"text"`
	Markdown string `json:"markdown,omitempty"`
}

// Configuration is a reportingConfiguration (3.50).
type Configuration struct {
	Level string `json:"level"`
}

// Invocation says how the run went (3.20).
type Invocation struct {
	ExecutionSuccessful bool           `json:"executionSuccessful"`
	Notifications       []Notification `json:"toolExecutionNotifications,omitempty"`
}

// Notification is what the tool has to say of itself (3.58).
type Notification struct {
	Level   string  `json:"level"`
	Message Message `json:"message"`
}

// Result is a finding (3.27).
type Result struct {
	RuleID              string            `json:"ruleId"`
	RuleIndex           int               `json:"ruleIndex"`
	Level               string            `json:"level"`
	Message             Message           `json:"message"`
	BaselineState       string            `json:"baselineState,omitempty"` // New or Unchanged (3.27.24)
	Locations           []Location        `json:"locations"`
	RelatedLocations    []Location        `json:"relatedLocations,omitempty"`
	PartialFingerprints map[string]string `json:"partialFingerprints"`
	Suppressions        []Suppression     `json:"suppressions"` // not nil: an empty list says that there are none (3.27.23)
	Fixes               []Fix             `json:"fixes,omitempty"`
}

// Message is a message (3.11). Its text is written by [NewMessage].
type Message struct {
	Text string `json:"text"`
}

// Location is a place and what is there (3.28).
type Location struct {
	PhysicalLocation PhysicalLocation `json:"physicalLocation"`
	Message          *Message         `json:"message,omitempty"`
}

// PhysicalLocation is a part of a file (3.29).
type PhysicalLocation struct {
	ArtifactLocation ArtifactLocation `json:"artifactLocation"`
	Region           Region           `json:"region"`
}

// ArtifactLocation is a file (3.4).
type ArtifactLocation struct {
	URI       string `json:"uri"`
	URIBaseID string `json:"uriBaseId,omitempty"`
}

// Region is lines and columns (3.30.2). A column is left out when it is 0; without an end a region goes to
// the end of its line.
type Region struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
	EndLine     int `json:"endLine,omitempty"`
	EndColumn   int `json:"endColumn,omitempty"`
}

// Suppression says why a result is not to be counted (3.35).
type Suppression struct {
	Kind          string `json:"kind"`
	Justification string `json:"justification,omitempty"`
}

// Fix is a change that takes a result away (3.55).
type Fix struct {
	Description Message  `json:"description"`
	Changes     []Change `json:"artifactChanges"`
}

// Change is the changes of one file (3.56).
type Change struct {
	ArtifactLocation ArtifactLocation `json:"artifactLocation"`
	Replacements     []Replacement    `json:"replacements"`
}

// Replacement is one change of a file as it is (3.57).
type Replacement struct {
	DeletedRegion   Region   `json:"deletedRegion"`
	InsertedContent *Content `json:"insertedContent,omitempty"`
}

// Content is an artifactContent (3.3).
type Content struct {
	Text string `json:"text"`
}
