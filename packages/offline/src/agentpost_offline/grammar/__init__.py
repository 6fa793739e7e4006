"""The grammar of requests: a closed set of words over the columns, values and dates of a
conversation's files. A message is read whole, or what is not understood of it is named."""
