from troth.cli import main

main()
