# cmake -DINPUT=file -DOUTPUT=file.inc -P PeakmarkHex.cmake: writes a file as a list of C bytes.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "${bytes}\n")
