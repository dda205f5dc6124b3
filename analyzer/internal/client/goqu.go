package client

import "strings"

// github.com/doug-martin/goqu. Strings given to Select, From and the like are names; text is what
// goqu.L and goqu.Func make.

const goquDatasets = "SelectDataset InsertDataset UpdateDataset DeleteDataset TruncateDataset"

// goquStarts begin a statement: functions, and methods of databases and dialects.
var goquStarts = idents(table(
	in("from", build("From", "sql"), build("Insert", "sql"), build("Update", "sql"), build("Delete", "sql")),
	in("select", build("Select", "sql")),
)...)

// goquScan writes to its first argument: of raw text, and of what was built.
func goquScan(recvs, params string, rowOf func(name, params string, a Answer) Method) []Method {
	var rows []Method
	for _, name := range strings.Fields("ScanStruct ScanStructs ScanVal ScanVals") {
		rows = append(rows, rowOf(name, params, Dest), rowOf(name+"Context", "ctx "+params, Dest))
	}
	return on(recvs, rows...)
}

var goquLibrary = library{
	path: "github.com/doug-martin/goqu",
	types: allTypes(
		[]Type{
			{Name: "Database", Kind: Pool},
			{Name: "TxDatabase", Kind: Tx},
			{Name: "SQLDatabase", Kind: Pool}, // what New takes; *sql.DB
			{Name: "SQLTx", Kind: Tx},
		},
		typesOf(goquDatasets+" DialectWrapper", Builder, Unknown),
	),
	funcs: table(
		goquStarts,
		[]Method{
			derive("New", "_ handle", Pool),
			derive("NewTx", "_ handle", Tx),
			text("L", "sql args"),
			text("Literal", "sql args"),
			in("call", text("Func", "sql args"))[0],
		},
	),
	methods: table(
		on("Database TxDatabase DialectWrapper", goquStarts...),
		on("DialectWrapper", derive("DB", "handle", Pool)),
		on("Database TxDatabase",
			send("Exec", "sql args", Tag),
			send("Query", "sql args", Rows),
			send("QueryRow", "sql args", Row),
			build("Prepare", "sql"),
		),
		on("Database TxDatabase SQLDatabase SQLTx",
			send("ExecContext", "ctx sql args", Tag),
			send("QueryContext", "ctx sql args", Rows),
			send("QueryRowContext", "ctx sql args", Row),
			build("PrepareContext", "ctx sql"),
		),
		goquScan("Database TxDatabase", "dest sql args", send),
		on("Database SQLDatabase",
			derive("Begin", "", Tx),
			derive("BeginTx", "ctx opts", Tx),
		),
		on("Database", callback("WithTx", "fn", Tx, CommitTx)),
		on("TxDatabase SQLTx",
			end("Commit", "", CommitTx),
			end("Rollback", "", RollbackTx),
		),
		on(goquDatasets,
			same("Executor", ""),
			same("Prepared", ""),
			same("SetDialect", ""),
			same("WithDialect", ""),
			text("ToSQL", ""),
		),
		goquScan("SelectDataset", "dest", run),
		goquClauses,
	),
}

var goquClauses = table(
	on("SelectDataset", idents(
		clause("Select", "sql", "select"),
		clause("SelectAppend", "sql", "select"),
		clause("SelectDistinct", "sql", "select"),
		clause("Distinct", "sql", "select"),
		clause("From", "sql", "from"),
		clause("Join", "sql", "from"),
		clause("InnerJoin", "sql", "from"),
		clause("LeftJoin", "sql", "from"),
		clause("CrossJoin", "sql", "from"),
		clause("GroupBy", "sql", "group"),
		clause("Having", "sql", "having"),
	)...),
	on("SelectDataset",
		clause("Offset", "", ""),
		same("ForUpdate", ""),
		run("Count", "", Value),
		run("CountContext", "ctx", Value),
		run("Pluck", "dest", Dest),
		run("PluckContext", "ctx dest", Dest),
	),
	on("SelectDataset UpdateDataset DeleteDataset", idents(
		clause("Where", "sql", "where"),
		clause("Order", "sql", "order"),
		clause("OrderAppend", "sql", "order"),
	)...),
	on("SelectDataset UpdateDataset DeleteDataset", clause("Limit", "", "limit")),
	on("SelectDataset InsertDataset UpdateDataset DeleteDataset", clause("With", "_ sql", "with")),
	on("InsertDataset UpdateDataset DeleteDataset", idents(clause("Returning", "sql", "suffix"))...),
)

var goquExecLibrary = library{
	path: "github.com/doug-martin/goqu/exec",
	types: []Type{
		{Name: "QueryExecutor", Role: Statement},
		{Name: "Scanner", Role: Results},
	},
	methods: table(
		on("QueryExecutor",
			run("Exec", "", Tag),
			run("ExecContext", "ctx", Tag),
			run("Query", "", Rows),
			run("QueryContext", "ctx", Rows),
			run("Scanner", "", Rows),
			run("ScannerContext", "ctx", Rows),
			text("ToSQL", ""),
		),
		goquScan("QueryExecutor", "dest", run),
		on("Scanner",
			read("ScanVal", "dest", ReadScan),
			read("ScanVals", "dest", ReadScan),
			read("ScanStruct", "dest", ReadScan),
			read("ScanStructs", "dest", ReadScan),
			read("Next", "", ReadNext),
			read("Err", "", ReadErr),
			read("Close", "", ReadClose),
		),
	),
}

// goquExpLibrary is the fragments that goqu.L and goqu.Func make.
var goquExpLibrary = library{
	path: "github.com/doug-martin/goqu/exp",
	embedded: map[string]string{
		"AliasedExpression":     "Expression",
		"LiteralExpression":     "Expression",
		"SQLFunctionExpression": "Expression",
	},
	types: typesOf("LiteralExpression SQLFunctionExpression Expression AliasedExpression", Fragment, Unknown),
}
