module github.com/advisorylint/advisorylint

go 1.26
