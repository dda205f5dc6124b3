module example.org/bakery

go 1.26
